/** A number with 12 significant digits and without trailing zeros, as in C's `%.12g`. */
export function twelveDigits(number: number): string {
  const [digits, exponent] = toEven(number).split("e")
  const power = Number(exponent)
  if (power < -4 || power >= 12) {
    const two = String(Math.abs(power)).padStart(2, "0")
    return `${withoutZeros(digits)}e${power < 0 ? "-" : "+"}${two}`
  }
  return withoutZeros(Number(toEven(number)).toFixed(11 - power))
}

/** Twelve digits, ties to even (ECMAScript rounds ties up). */
function toEven(number: number): string {
  const exact = number.toExponential(60).replace(/e.*/, "").replace(/0+$/, "")
  const halfway = exact.replace(/[-.]/g, "").length === 13 && exact.endsWith("5")
  if (!halfway || "13579".includes(exact.at(-2)!)) return number.toExponential(11)
  return exact.slice(0, -1) + number.toExponential(60).replace(/.*e/, "e")
}

const withoutZeros = (text: string): string => (text.includes(".") ? text.replace(/\.?0+$/, "") : text)
