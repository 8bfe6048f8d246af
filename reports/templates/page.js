"use strict";
// Filters, sorts and opens rows that are on the page; the script loads nothing and stores nothing.
(() => {
  const every = (selector, root = document) => [...root.querySelectorAll(selector)];
  const tables = every("table.rows:not(.many)");
  const form = document.querySelector("form.controls:not(.many)");
  document.documentElement.classList.add("scripted");

  const value = (body, column) => body.rows[0].cells[column].dataset.value
    ?? body.rows[0].cells[column].textContent.trim();

  function order(one, other) {
    if (one === "" || other === "") return (one === "") - (other === "");
    const [a, b] = [one, other].map((text) => Number(text.replace("inf", "Infinity")));
    return Number.isNaN(a) || Number.isNaN(b)
      ? one.localeCompare(other, "en", { numeric: true }) : Number(a > b) - Number(a < b);
  }

  function sort(table, head) {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of every("thead th", table)) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const bodies = [...table.tBodies].map((body) => [value(body, head.cellIndex), body]);
    bodies.sort(([one], [other]) => {
      // A row without a value stays last in both directions.
      const sign = down && one !== "" && other !== "" ? -1 : 1;
      return sign * order(one, other);
    });
    table.append(...bodies.map(([, body]) => body));
  }

  for (const table of tables) {
    for (const head of every("th[data-sort]", table.tHead)) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head));
      head.append(button);
    }
  }

  function reveal() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const details = target && target.querySelector("details");
    if (!details) return;
    details.open = true;
    target.hidden = false;
    target.scrollIntoView();
  }
  window.addEventListener("hashchange", reveal);

  // On paper, the table comes first, and the details of opened rows follow it.
  const moved = [];
  window.addEventListener("beforeprint", () => {
    const opened = every("table.rows > tbody > tr > td > details[open]:not([data-answers]) > .panel");
    const shown = opened.filter((panel) => !panel.closest("tbody").hidden && panel.hasChildNodes());
    if (!shown.length) return;
    const appendix = document.createElement("section");
    const title = document.createElement("h2");
    title.textContent = "Details";
    appendix.className = "appendix";
    appendix.append(title);
    for (const panel of shown) {
      const name = document.createElement("h3");
      name.textContent = panel.closest("tbody").querySelector("th").textContent;
      moved.push([panel, panel.parentNode]);
      appendix.append(name, panel);
    }
    document.querySelector("main").append(appendix);
  });
  window.addEventListener("afterprint", () => {
    for (const [panel, home] of moved.splice(0)) home.append(panel);
    document.querySelector(".appendix")?.remove();
  });

  if (!form) {
    reveal();
    return;
  }
  const { text, standing, all } = form.elements;
  const listed = tables.filter((table) => !table.classList.contains("leaders"));
  const bodies = listed.flatMap((table) => [...table.tBodies])
    .map((body) => ({
      body,
      words: every("[data-find]", body).map((part) => part.textContent).join(" ").toLowerCase(),
      marks: every("[data-standing]", body).map(({ dataset }) => dataset.standing),
    }));
  const main = listed.at(-1);
  const box = main.closest(".scroll");
  const shown = () => [...main.tBodies].filter((body) => !body.hidden);
  const opened = () => shown().flatMap((body) => every("tr > td > details", body));

  function filter() {
    const wanted = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = standing.value;
    for (const { body, words, marks } of bodies) {
      const held = wanted.every((word) => words.includes(word));
      body.hidden = !held || Boolean(kind) && !marks.includes(kind);
    }
    for (const row of every("tr[data-row]")) {
      row.hidden = document.getElementById(row.dataset.row).hidden;
    }
    // The row of a grouped query counts as several answers.
    const answers = (rows) => rows.reduce((sum, row) => sum + Number(row.dataset.answers ?? 1), 0);
    const [number, total] = [shown(), [...main.tBodies]].map((rows) => answers(rows).toLocaleString("en"));
    const more = box && box.scrollHeight > box.clientHeight ? ", scroll to see all" : "";
    form.querySelector("[role=status]").textContent =
      number === total ? `${total} shown${more}` : `${number} of ${total} shown${more}`;
    label();
  }

  function label() {
    all.hidden = !main.querySelector("tr > td > details");
    const whole = opened().length > 0 && opened().every((details) => details.open);
    all.textContent = whole ? "Close all" : "Open all";
  }

  all.addEventListener("click", () => {
    const open = !opened().every((details) => details.open);
    for (const details of opened()) details.open = open;
    label();
  });
  main.addEventListener("toggle", label, true);
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
  reveal();
})();
