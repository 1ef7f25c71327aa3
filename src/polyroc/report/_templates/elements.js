// Names and numbers as the page shows them, and elements of SVG.

export const NAMES = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

export function nameElement(name) {
  const element = document.createElement("bdi");
  element.className = "name";
  element.textContent = name.text; // never as markup
  if (name.whole) element.title = name.whole;
  return element;
}

// Four decimals; more where they would make an area perfect that is not. As the page says it elsewhere.
export function areaText(value, least = 4) {
  for (let digits = least; digits <= 6; digits += 1) {
    const text = value.toFixed(digits);
    if ((Number(text) !== 0 && Number(text) !== 1) || Number(text) === value) return text;
  }
  return value > 0.5 ? "above 0.999999" : "below 0.000001";
}

export const counted = (number) => number.toLocaleString("en");

const SVG_SPACE = "http://www.w3.org/2000/svg";

export function shape(tag, attributes = {}, text = null) {
  const element = document.createElementNS(SVG_SPACE, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text; // never as markup
  return element;
}
