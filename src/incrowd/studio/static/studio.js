// Shows an error response beside the content, and keeps the edits of this window in order.
"use strict";

// If the studio has ended, or was started again, nothing on the page can be trusted to go on.
function ended() {
  const problems = document.getElementById("problems");
  const notice = document.getElementById("studio-ended");
  if (!problems || !notice || document.body.classList.contains("studio-ended")) return;
  document.body.classList.add("studio-ended"); // hides what is said to be running
  problems.replaceChildren(notice.content.cloneNode(true));
}

document.addEventListener("htmx:error", (event) => {
  const { ctx, error } = event.detail;
  if (ctx?.request && !ctx.response && error?.name === "TypeError") ended(); // it could not be fetched
});

document.addEventListener("htmx:response:error", (event) => event.detail.ctx.response.status === 403 && ended());

// Each form has the version of the survey that its fields were filled from. Edits of this window make newer ones:
// a form that was filled before them is sent with the newest. A form that was filled before an edit of another window
// is not; the studio refuses it, and shows what was changed.
let newest = "";
const replaced = new Set(); // versions that edits of this window have replaced

const addNewest = (data) => replaced.has(data.get("seen")) && data.set("at", newest);

document.addEventListener("formdata", (event) => addNewest(event.formData));

document.addEventListener("htmx:before:request", (event) => {
  const { request } = event.detail.ctx; // now, not when it was queued
  if (!(request.body instanceof URLSearchParams)) return;
  addNewest(request.body);
  request.keepalive = request.body.toString().length < 60_000; // it is saved even if the page is left
});

document.addEventListener("htmx:after:request", (event) => {
  const { request, response } = event.detail.ctx;
  const version = response.headers.get("survey-version");
  if (!version) return;
  if (request.body instanceof URLSearchParams) {
    replaced.add(request.body.get("seen"));
    if (newest) replaced.add(newest);
  } else if (version !== newest) replaced.clear(); // it was changed elsewhere
  newest = version;
});

// What was entered before this page could save it is saved now. A field in which somebody types saves itself later.
const isEntered = (field) =>
  field !== document.activeElement &&
  (field.matches("select")
    ? field.selectedIndex !== Math.max([...field.options].findIndex((option) => option.defaultSelected), 0)
    : field.matches("[type=checkbox], [type=radio]")
      ? field.checked !== field.defaultChecked
      : field.matches("[name]:not([type=hidden])") && field.value !== field.defaultValue);

document.addEventListener("htmx:after:init", ({ target }) => {
  if (!target.matches?.("form[hx-trigger*=change]")) return;
  const entered = [...target.elements].find(isEntered);
  entered?.dispatchEvent(new Event("change", { bubbles: true }));
});

// A button that names a field copies its text, and says so.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    field.select(); // the browser does not allow it; the person can
    return;
  }
  const before = button.textContent;
  button.textContent = "✓";
  document.getElementById("status").textContent = `${before} ✓`;
  setTimeout(() => (button.textContent = before), 2000);
});
