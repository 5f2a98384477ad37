// Times are typed in the time zone of the browser, and sent as UTC. Leaving a form by the list of
// steps saves it first, so that nothing typed is lost.
const pad = (number) => String(number).padStart(2, "0")
const local = (date) => `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}T${pad(date.getHours())}:${pad(date.getMinutes())}`

for (const input of document.querySelectorAll(".times input[type=datetime-local]")) {
  const sent = document.createElement("input")
  sent.type = "hidden"
  sent.name = input.name
  sent.value = input.value
  input.removeAttribute("name")
  input.after(sent)
  if (input.value) input.value = local(new Date(`${input.value}Z`))
  input.addEventListener("input", () => {
    const date = new Date(input.value)
    sent.value = Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 19)
  })
}
const times = document.querySelector(".times[data-zone]")
if (times) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  document.querySelector("#zone").textContent = times.dataset.zone.replace("{zone}", zone)
  const sent = document.createElement("input")
  sent.type = "hidden"
  sent.name = "zone"
  sent.value = zone
  times.append(sent)
}

const form = document.querySelector("#choices-form")
if (form) {
  for (const link of document.querySelectorAll("#wizard a[data-step]")) {
    link.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return
      event.preventDefault()
      const to = document.createElement("input")
      to.type = "hidden"
      to.name = "to"
      to.value = link.dataset.step
      form.append(to)
      form.submit()
    })
  }
}
