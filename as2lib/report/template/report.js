// The switch for all code, which other pages remember, and tables sorted by a click on a heading.
const toggle = document.getElementById("show-code");
const memory = (() => { try { return localStorage; } catch { return {}; } })(); // a browser may refuse it
function switched() {
  memory.code = toggle.checked;
  document.body.classList.toggle("with-code", toggle.checked);
  for (const cell of document.querySelectorAll(".code-cell:not(.shown) details.code")) cell.open = toggle.checked;
}
toggle.checked = memory.code === "true";
toggle.addEventListener("change", switched);
switched();

// What a cell is sorted by: "61.2 ± 0.4" is 61.2, "< 0.001" is 0.001, "61 k" is 0.061, a dash null, words NaN.
function value(text) {
  if (text === "–" || text === "") return null;
  const number = text.replace(/ ±.*| [%M]$/, "").replace(/^< /, "").replace(/ k$/, "e-3").replaceAll(",", "").replace("\u2212", "-");
  return number.trim() === "" ? NaN : Number(number);
}

function sort(table, place, heading) {
  const body = table.tBodies[0], rows = [...body.rows];
  rows.forEach((row, i) => (row.dataset.place ??= i));
  const order = { none: "ascending", ascending: "descending", descending: "none" }[heading.ariaSort ?? "none"];
  for (const other of table.tHead.rows[0].cells) other.ariaSort = other === heading ? order : null;
  const texts = new Map(rows.map((row) => [row, row.cells[place].textContent.trim()]));
  const numeric = [...texts.values()].every((text) => !Number.isNaN(value(text)));
  const sign = order === "descending" ? -1 : 1;
  rows.sort((a, b) => {
    if (order === "none") return a.dataset.place - b.dataset.place;
    const [x, y] = [texts.get(a), texts.get(b)], [p, q] = [value(x), value(y)];
    if (p === null || q === null) return (p === null) - (q === null); // what is missing stays last
    return sign * (numeric ? p - q : x.localeCompare(y, "en", { numeric: true }));
  });
  body.append(...rows);
}

for (const table of document.querySelectorAll(".as2-table table")) {
  [...table.tHead.rows[0].cells].forEach((heading, place) => {
    if (!heading.textContent) return;
    const button = document.createElement("button");
    button.append(...heading.childNodes);
    button.title = "sort";
    button.addEventListener("click", () => sort(table, place, heading));
    heading.append(button);
  });
}

// On a phone the lists wait for a click.
if (matchMedia("(max-width: 63.99rem)").matches) for (const menu of document.querySelectorAll(".menu")) menu.open = false;
