// What htmx leaves to do when the page is replaced by a newer one: what a person typed and has not saved stays, with
// the version that it was typed on; panels stay open; checkboxes and lists show what was saved, also after "undo"; and
// the keyboard goes on in the same section, if the button that was pressed is no longer there.
"use strict";

htmx.config.morphIgnore.push("open"); // of panels

const sent = new WeakMap(); // what each field had when its form was last sent
const fields = (form) => [...form.elements].filter((each) => each.matches("textarea, input:not([type])"));
const typed = (each) => each.value !== each.defaultValue && each.value !== sent.get(each);

document.addEventListener("htmx:before:request", (event) => {
  const form = event.detail.ctx.sourceElement;
  if (form instanceof HTMLFormElement) for (const each of fields(form)) sent.set(each, each.value);
});

let section = ""; // where the focus was

document.addEventListener("htmx:before:swap", () => {
  section = document.activeElement?.closest("section[id]")?.id ?? "";
  for (const form of document.forms) form.toggleAttribute("hx-morph-skip", fields(form).some(typed));
});

document.addEventListener("htmx:after:swap", () => {
  for (const form of document.forms) form.removeAttribute("hx-morph-skip");
  for (const panel of document.querySelectorAll("details[data-open]")) panel.open = true;
  if (section && document.activeElement === document.body) {
    const next = document.getElementById(section) ?? document.getElementById("questions");
    next?.querySelector("button:enabled, a[href], summary")?.focus();
  }
});

const refused = new Set(); // forms whose edit was not made, because the survey was changed elsewhere

document.addEventListener("htmx:after:request", (event) => {
  const { sourceElement: form, response, request } = event.detail.ctx;
  if (!(form instanceof HTMLFormElement)) return;
  refused.delete(form);
  if (!response.raw.ok) {
    for (const each of fields(form)) sent.delete(each); // it is still to be saved
    if (response.status === 409) refused.add(form);
    return;
  }
  if ("reset" in form.dataset) form.reset();
  for (const each of form.querySelectorAll("[data-once]")) each.value = "";
  if (!request.body?.has("insist")) return;
  const others = [...refused].filter((each) => each.isConnected);
  refused.clear();
  for (const each of others) each.requestSubmit(); // the person has seen what was changed elsewhere
});

addEventListener("beforeunload", (event) => {
  if ([...document.forms].some((form) => fields(form).some(typed))) event.preventDefault();
});

// Questions and answers are moved by their handles, or with Alt and an arrow key. Afterward, the focus is on what was
// moved, wherever it is now.
const ITEMS = "li.question, tr[data-row]";
const idOf = (item) => item?.querySelector("[name=up]")?.value ?? "";
const alike = (one, other) => one && other && one !== other && one.parentElement === other.parentElement;
let dragged = null; // the question or answer that is being dragged
let moved = null; // how to find what was moved

const below = (item, event) => event.clientY > item.getBoundingClientRect().top + item.offsetHeight / 2;
const unmark = () => {
  for (const each of document.querySelectorAll(".drop-before, .drop-after")) each.classList.remove("drop-before", "drop-after");
};

document.addEventListener("dragstart", (event) => {
  dragged = event.target.matches?.("i[draggable]") ? event.target.closest(ITEMS) : null;
  if (!dragged) return;
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setDragImage(dragged, 0, 0);
});
document.addEventListener("dragover", (event) => {
  const item = event.target.closest?.(ITEMS);
  if (!alike(dragged, item)) return;
  event.preventDefault();
  unmark();
  item.classList.add(below(item, event) ? "drop-after" : "drop-before");
});
document.addEventListener("dragend", () => {
  unmark();
  dragged = null;
});
document.addEventListener("drop", (event) => {
  const item = event.target.closest?.(ITEMS);
  if (!alike(dragged, item)) return;
  event.preventDefault();
  const next = below(item, event) ? item.nextElementSibling : item;
  if (next !== dragged) place(dragged, next);
});

/** Moves a question or an answer before another one, or to the end. */
function place(item, next) {
  const form = item.dataset.row ? item.closest("form") : document.getElementById("order");
  if (item.dataset.row) form.elements.placed.value = `${item.dataset.row}.${next?.dataset.row ?? ""}`;
  else {
    form.elements.moved.value = idOf(item);
    form.elements.before.value = idOf(next);
  }
  follow(item);
  form.requestSubmit();
}

/** Remembers what is moved, and which of its parts has the focus. */
function follow(item) {
  const part = document.activeElement?.id.replace(/\d+.*$/, "");
  moved = item.dataset.row ? { answer: item.querySelector("[name^=option]").value, part } : { id: idOf(item), part };
}

document.addEventListener("keydown", (event) => {
  if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
  const item = event.target.closest?.(ITEMS);
  const way = event.key === "ArrowUp" ? "up" : "down";
  const button = item?.querySelector(item.dataset.row ? `[name=row][value^="${way}."]` : `.summary [name=${way}]`);
  if (!button) return;
  event.preventDefault();
  follow(item);
  if (button.disabled) return;
  button.focus(); // a field that has the focus would keep its value
  button.click();
});

document.addEventListener("htmx:after:swap", () => {
  if (!moved) return;
  const { id, answer, part } = moved;
  moved = null;
  const items = [...document.querySelectorAll(ITEMS)];
  const item = items.find((each) => (id ? idOf(each) === id : each.querySelector("[name^=option]")?.value === answer));
  const wanted = part && item?.querySelector(`[id^="${part}"]:enabled, a[id^="${part}"]`);
  (wanted ?? item?.querySelector("a[href], input:not([type=hidden])"))?.focus();
});

// The preview is as wide as a telephone or as the window, and shows the question that is being edited.
function widen(wide) {
  const design = document.getElementById("design");
  if (wide) design.dataset.preview = "wide";
  else delete design.dataset.preview;
  for (const each of document.querySelectorAll("[data-preview][aria-pressed]"))
    each.setAttribute("aria-pressed", String((each.dataset.preview === "wide") === wide));
}
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-preview]");
  if (!button) return;
  sessionStorage.setItem("preview", button.dataset.preview);
  widen(button.dataset.preview === "wide");
  showInPreview();
});

let looking = 0;
function showInPreview() {
  widen(sessionStorage.getItem("preview") === "wide");
  clearTimeout(looking);
  const number = document.querySelector(".question.is-open")?.id.replace("question-", "");
  const frame = document.querySelector(".preview iframe");
  if (number && frame) lookFor(frame, `q${number}-error`, 50);
}

/** Scrolls the preview to the question with an element, once its page is there with its style. */
function lookFor(frame, id, times) {
  const page = frame.contentDocument;
  const shown = page?.readyState === "complete" && page.getElementById(id)?.closest(".item, .question");
  if (!shown) {
    if (times) looking = setTimeout(() => lookFor(frame, id, times - 1), 200);
    return;
  }
  const part = shown.closest(".part");
  for (const each of part.parentElement.querySelectorAll(".part")) each.hidden = each !== part;
  for (let each = shown; each !== part; each = each.parentElement) each.hidden = false; // also if it has a condition
  shown.style.outline = "3px solid #6cb0f5";
  shown.style.outlineOffset = "4px";
  const top = shown.getBoundingClientRect().top + frame.contentWindow.scrollY - 24;
  frame.contentWindow.scrollTo({ top, behavior: "instant" });
}
document.addEventListener("htmx:after:swap", () => setTimeout(showInPreview));
showInPreview();

// The form for a new question shows the inputs of the chosen type.
function showInputs() {
  const keys = document.querySelector("#add [name=type]:checked")?.dataset.keys.split(" ") ?? [];
  for (const each of document.querySelectorAll("#add [data-key]")) each.hidden = !keys.includes(each.dataset.key);
}
for (const name of ["change", "reset", "htmx:after:swap"]) document.addEventListener(name, () => setTimeout(showInputs));
showInputs();

new MutationObserver((changes) => {
  for (const { target, attributeName } of changes) target[attributeName] = target.hasAttribute(attributeName);
}).observe(document.getElementById("design"), { subtree: true, attributeFilter: ["checked", "selected"] });
