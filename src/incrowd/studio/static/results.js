// Tells screen readers what has come into the page: a result, or what is wrong with the choice.
"use strict";

document.addEventListener("htmx:after:swap", () => {
  const problem = document.querySelector("#results .problems");
  const title = document.getElementById("result-title");
  const status = document.getElementById("status");
  if (status && !problem) status.textContent = title ? title.textContent : "";
});
