// All points of the curves as tables, once somebody opens them: the page comes with some, for readers without a script.

function curveNumbers(data) {
  const tables = [...document.querySelectorAll("table.numbers")];
  const rowOf = (cells) => {
    const row = document.createElement("tr");
    for (const cell of cells) row.insertCell().textContent = areaText(cell);
    return row;
  };
  const fill = (table, { curve, mean_curve: mean }) => {
    const columns = [curve.call_rate, curve.fpr, curve.tpr, ...(mean ? [mean.fpr, mean.tpr] : [])];
    table.tBodies[0].replaceChildren(...curve.call_rate.map((_, i) => rowOf(columns.map((column) => column[i]))));
    table.caption.querySelector(".n-points").textContent = counted(curve.call_rate.length);
  };
  tables[0]?.closest("details").addEventListener("toggle", () => tables.forEach((table, m) => fill(table, data.models[m])), { once: true });
}
