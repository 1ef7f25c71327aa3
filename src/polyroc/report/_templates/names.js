// Names and numbers as the page shows them.

const NAMES = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function nameElement(name) {
  const element = document.createElement("bdi");
  element.className = "name";
  element.textContent = name.text; // never as markup
  if (name.whole) element.title = name.whole;
  return element;
}

// Four decimals; more where they would make an area perfect that is not. As the page says it elsewhere.
function areaText(value, least = 4) {
  for (let digits = least; digits <= 6; digits += 1) {
    const text = value.toFixed(digits);
    if ((Number(text) !== 0 && Number(text) !== 1) || Number(text) === value) return text;
  }
  return value > 0.5 ? "above 0.999999" : "below 0.000001";
}
