// Whole numbers from letters, as `_packing.py` writes them.

const LETTERS = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((letter) => !'"&<>\\'.includes(letter));
const ENDING = 46; // a number ends with one of so many first letters
const OTHERS = LETTERS.length - ENDING;
const PLACE = Float64Array.from({ length: 127 }, (_, code) => LETTERS.indexOf(String.fromCharCode(code)));

// The numbers of a text: each is written as its change from the one before.
export function numbersOf(text) {
  const numbers = new Float64Array(text.length);
  let n = 0, value = 0, code = 0, scale = 1;
  for (let i = 0; i < text.length; i++) {
    const place = PLACE[text.charCodeAt(i)];
    code += scale * place;
    if (place >= ENDING) {
      scale *= OTHERS;
      continue;
    }
    value += code % 2 ? -(code + 1) / 2 : code / 2;
    numbers[n++] = value;
    code = 0;
    scale = 1;
  }
  return numbers.subarray(0, n);
}
