// What htmx leaves to do when the page is replaced by a newer one: what a person typed and has not saved stays, with
// the version that it was typed on; panels stay open; checkboxes and lists show what was saved, also after "undo".
"use strict";

const sent = new WeakMap(); // what each field had when its form was last sent
const fields = (form) => [...form.elements].filter((each) => each.matches("textarea, input:not([type])"));
const typed = (each) => each.value !== each.defaultValue && each.value !== sent.get(each);

document.addEventListener("htmx:before:request", (event) => {
  const form = event.detail.ctx.sourceElement;
  if (form instanceof HTMLFormElement) for (const each of fields(form)) sent.set(each, each.value);
});

document.addEventListener("htmx:before:morph:node", (event) => {
  const { oldNode, newNode } = event.detail;
  if (oldNode instanceof HTMLDetailsElement && oldNode.open) newNode.setAttribute("open", "");
  if (oldNode instanceof HTMLFormElement && fields(oldNode).some(typed)) event.preventDefault();
});

document.addEventListener("htmx:after:request", (event) => {
  const { sourceElement, response } = event.detail.ctx;
  if (!response.raw.ok || !(sourceElement instanceof HTMLFormElement)) return;
  if ("reset" in sourceElement.dataset) sourceElement.reset();
  for (const each of sourceElement.querySelectorAll("[data-once]")) each.value = "";
});

new MutationObserver((changes) => {
  for (const { target, attributeName } of changes) target[attributeName] = target.hasAttribute(attributeName);
}).observe(document.getElementById("design"), { subtree: true, attributeFilter: ["checked", "selected"] });
