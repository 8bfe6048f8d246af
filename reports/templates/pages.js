// Shows a table of very many rows, some rows at a time.  The script searches and sorts the data of
// the page, and makes a row when it is shown.
(() => {
  const source = document.getElementById("every-row");
  if (!source) return;
  const { page: size, printed: most, heads, name, rows } = JSON.parse(source.textContent);
  const table = document.querySelector("table.many");
  const form = document.querySelector("form.many");
  const pages = document.querySelector("nav.pages");
  const blank = document.getElementById("blank-row").content.firstElementChild;
  const { text, standing, all } = form.elements;
  const status = form.querySelector("[role=status]");
  const [back, next] = pages.querySelectorAll("button");
  const found = rows.map(([id, , words, said]) => `${id} ${words} ${said}`.toLowerCase());
  const order = rows.map((_, at) => at);
  const numeric = [...table.tHead.rows[0].cells].map((title) => title.matches(".number"));
  let chosen = order;
  let first = 0;

  function made(tag, kind, content = "") {
    const part = document.createElement(tag);
    if (kind) part.className = kind;
    part.textContent = content;
    return part;
  }

  function scrolled(part, label) {
    part.tabIndex = 0;
    part.setAttribute("role", "group");
    part.setAttribute("aria-label", label);
    return part;
  }

  function small([place, ...lines]) {
    const head = heads[place];
    const part = made("table", "small");
    const cells = (line, tag) => line.map((value, at) => {
      const cell = made(at ? tag : "th", at ? "number" : "", value);
      if (cell.tagName === "TH") cell.scope = tag === "th" ? "col" : "row";
      return cell;
    });
    part.createTHead().insertRow().append(...cells(head, "th"));
    const body = part.createTBody();
    for (const line of lines) body.insertRow().append(...cells(line, "td"));
    const wide = scrolled(made("div", "wide"), head[0]);
    wide.append(part);
    return wide;
  }

  function fill(panel, [lines, details, code]) {
    const told = made("ul", "told");
    told.append(...lines.map(([line, role]) => made("li", role || "", line)));
    panel.append(told);
    if (details.length) panel.append(small(details));
    for (const [title, quoted] of code) {
      panel.append(made("h3", "", title), scrolled(made("pre", "code", quoted), title));
    }
  }

  function shown([id, cells, words, said, kind, marks, , ...details]) {
    const body = blank.cloneNode(true);
    const [line, under] = body.rows;
    line.cells[name].textContent = id;
    cells.forEach(([value, , tone], at) => {
      const cell = line.cells[at < name ? at : at + 1];
      if (tone) cell.append(made("span", `badge ${tone}`, value));
      else cell.textContent = value;
    });
    const [named, claim, signs, asked] = under.querySelectorAll("summary > span");
    named.textContent = `${id}: `;
    claim.textContent = said;
    claim.classList.add(kind);
    claim.hidden = !said;
    signs.append(...marks.map((mark) => made("span", "mark", mark)));
    asked.textContent = words;
    const panel = under.querySelector(".panel");
    under.querySelector("details").addEventListener(
      "toggle", () => fill(panel, details), { once: true });
    return body;
  }

  function put(places) {
    for (const body of [...table.tBodies]) body.remove();
    table.append(...places.map((at) => shown(rows[at])));
  }

  const number = (value) => value.toLocaleString("en");
  const details = () => [...table.querySelectorAll("tr > td > details")];

  function show() {
    const last = Math.min(first + size, chosen.length);
    put(chosen.slice(first, last));
    const of = chosen.length === rows.length ? number(rows.length)
      : `${number(chosen.length)} found of ${number(rows.length)}`;
    status.textContent = last ? `${number(first + 1)} to ${number(last)} of ${of}` : `0 of ${of}`;
    back.disabled = first === 0;
    next.disabled = last === chosen.length;
    label();
  }

  function label() {
    const whole = details().length > 0 && details().every((part) => part.open);
    all.textContent = whole ? "Close all" : "Open all";
  }

  function filter() {
    const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = standing.selectedIndex - 1;
    chosen = order.filter((at) => wanted.every((word) => found[at].includes(word))
      && (kind < 0 || rows[at][6].includes(kind)));
    first = 0;
    show();
  }

  function value(at, column) {
    const [id, cells] = rows[at];
    if (column === name) return id;
    const [text, exact = text] = cells[column < name ? column : column - 1];
    const sorted = exact === "" && !numeric[column] ? text : exact;
    return sorted === "" || Number.isNaN(Number(sorted)) ? sorted : Number(sorted);
  }

  function compared(one, other) {
    if (typeof one === "number" && typeof other === "number") {
      return Number(one > other) - Number(one < other);
    }
    return String(one).localeCompare(String(other), "en", { numeric: true });
  }

  function sort(title) {
    const down = title.getAttribute("aria-sort") === "ascending";
    for (const other of title.parentNode.cells) other.removeAttribute("aria-sort");
    title.setAttribute("aria-sort", down ? "descending" : "ascending");
    const values = rows.map((_, at) => value(at, title.cellIndex));
    order.sort((one, other) => {
      const [a, b] = [values[one], values[other]];
      // A row without a value stays last in both directions.
      if (a === "" || b === "") return (a === "") - (b === "") || one - other;
      return (down ? -1 : 1) * compared(a, b) || one - other;
    });
    filter();
  }

  for (const title of table.tHead.rows[0].cells) {
    const button = made("button");
    button.type = "button";
    button.append(...title.childNodes);
    button.addEventListener("click", () => sort(title));
    title.append(button);
  }
  function turn(by) {
    first += by;
    show();
    table.scrollIntoView();
  }
  back.addEventListener("click", () => turn(-size));
  next.addEventListener("click", () => turn(size));
  all.addEventListener("click", () => {
    const open = !details().every((part) => part.open);
    for (const part of details()) part.open = open;
    label();
  });
  table.addEventListener("toggle", label, true);
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  // On paper, the found rows with a NO or an open verdict replace the shown rows, if there are any,
  // and a line gives the number of printed rows.
  const printed = made("p", "detail");
  window.addEventListener("beforeprint", () => {
    const poor = chosen.filter((at) => ["no", "open"].includes(rows[at][4])).slice(0, most);
    if (poor.length) put(poor);
    printed.textContent = `Printed: ${number(table.tBodies.length)} of ${number(rows.length)}`;
    table.before(printed);
  });
  window.addEventListener("afterprint", () => {
    printed.remove();
    show();
  });
  document.querySelector("[data-without-script]").remove();
  form.hidden = false;
  pages.hidden = rows.length <= size;
  filter();
})();
