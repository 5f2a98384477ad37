// A list of the published versions of this manual, in the header of each page. Empty unless there are several:
// `python -m releasing.manual` writes the first statement. It works from a disk, where a page cannot read other files.
const VERSIONS = []

const script = document.currentScript.src
document.addEventListener("DOMContentLoaded", () => {
  if (VERSIONS.length < 2) return
  const folder = new URL(".", script)
  const here = decodeURIComponent(folder.pathname.split("/").at(-2))
  const list = document.createElement("select")
  list.className = "versions"
  list.setAttribute("aria-label", "Version of the manual")
  for (const { name, label } of VERSIONS) list.add(new Option(label, name, false, name === here))
  list.addEventListener("change", () => (location.href = new URL(`../${list.value}/index.html`, folder)))
  document.querySelector(".md-header__title").after(list)
})
