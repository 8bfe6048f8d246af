// Opens pages of pqd in one headless browser and looks for what a reader would stumble over.
//
//     PQD_BROWSER=.venv/browser/node_modules node drive.mjs [FOLDER FOR SCREENSHOTS]
//
// Each line of its input names a page as JSON, {"kind": ..., "file": ..., "view": null}, or one view
// of it; each line of its output is the list of the page's problems.  test_pages.py calls it, and says how to set it up.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import path from "node:path";

const require = createRequire(path.join(process.env.PQD_BROWSER, "x"));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");
const [folder] = process.argv.slice(2);
// The page that is looked at, and its problems.
let kind, view, large, url, problems;
const hold = (fact, words) => fact || problems.push(words);

const browser = await chromium.launch({
  executablePath: process.env.PQD_CHROMIUM,
  args: ["--no-sandbox"],
});

async function open(words, options, then) {
  if (view && view !== words) return;
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.on("console", (message) => hold(false, `${words}: console says ${message.text()}`));
  page.on("pageerror", (error) => hold(false, `${words}: ${error.message}`));
  page.on("request", (asked) => hold(asked.url() === url, `${words}: asks for ${asked.url()}`));
  await page.goto(url);
  try {
    await then(page, (text) => `${words}: ${text}`);
  } catch (error) {
    hold(false, `${words}: ${error.message.split("\n")[0]}`);
  }
  if (folder) {
    const name = `${kind}-${words.replaceAll(" ", "-")}.png`;
    await page.screenshot({ path: path.join(folder, name), fullPage: true, timeout: 120_000 });
  }
  await context.close();
}

const fits = (page) => page.evaluate(
  () => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
const bodies = ".rows:not(.leaders) > tbody";
const shown = (page) => page.locator(`${bodies}:not([hidden])`).count();
const first = (page) => page.locator(`${bodies}:not([hidden])`).first().locator("th").first()
  .textContent();

async function openAll(page) {
  await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
}

// Every text within its own box, no two labels of a picture on top of one another.
const overlaps = (page) => page.evaluate(() => {
  const found = [];
  for (const svg of document.querySelectorAll("main svg")) {
    const texts = [...svg.querySelectorAll("text")].map((text) => text.getBoundingClientRect());
    texts.forEach((one, at) => texts.slice(at + 1).forEach((other) => {
      const apart = one.right <= other.left || other.right <= one.left
        || one.bottom <= other.top || other.bottom <= one.top;
      if (!apart) found.push(svg.getAttribute("aria-label"));
    }));
  }
  return found;
});

// Signs that reach out of their column, titles, names and numbers that are broken within a word, and
// numbers that are broken from their unit.
const squeezed = (page) => page.evaluate(() => {
  const right = (element) => element.getBoundingClientRect().right;
  const found = [...document.querySelectorAll(".rows > tbody > tr:first-child > td > .badge")]
    .filter((badge) => right(badge) > right(badge.parentElement))
    .map((badge) => `${badge.textContent} reaches out of its column`);
  const words = document.createRange();
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const cells = text.parentElement.closest(".rows > thead th, .rows > tbody > tr:first-child > *");
    const pieces = cells ? /[^\s<>()/-]+(?:\s[%M](?!\w))?/g : /\d\s%/g;
    if (text.parentElement.closest("script, style, pre, .sr")) continue;
    for (const { index, 0: piece } of text.data.matchAll(pieces)) {
      // Chinese and Japanese may be broken between any two signs.
      if (/\p{Ideographic}/u.test(piece)) continue;
      words.setStart(text, index);
      words.setEnd(text, index + piece.length);
      const lines = new Set([...words.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) found.push(`${piece} is broken`);
    }
  }
  return found;
});

// Parts that can be scrolled, and have no shadow at the edge behind which there is more.
const unmarked = (page) => page.evaluate(() => [...document.querySelectorAll("main *")]
  .filter((part) => ["auto", "scroll"].includes(getComputedStyle(part).overflowX)
    && part.tagName !== "PRE" && (part.scrollWidth > part.clientWidth + 1
      || part.scrollHeight > part.clientHeight + 1)
    && !getComputedStyle(part).backgroundImage.includes("gradient"))
  .map((part) => part.className));

const everyRule = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"];

async function rules(page, say, some) {
  // The page forbids scripts that are not its own, so this one comes in from outside of it.
  await page.addScriptTag({ path: axe }).catch(() => hold(false, say("axe did not start")));
  const { violations } = await page.evaluate((runOnly) => globalThis.axe.run({ runOnly }), some);
  for (const { id, impact, nodes } of violations) {
    hold(false, say(`${impact} ${id}: ${nodes.length} x ${nodes[0].html.slice(0, 200)}`));
  }
}

async function look() {
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, words] of [[1280, "wide"], [1000, "desk"], [390, "phone"]]) {
      if (words === "desk" && colorScheme === "dark") continue;
      await open(`${words} ${colorScheme}`, { colorScheme, bypassCSP: true,
        viewport: { width, height: 900 } }, async (page, say) => {
        await openAll(page);
        hold(await fits(page), say("wider than the window"));
        for (const part of await unmarked(page)) hold(false, say(`scrolls without a sign: ${part}`));
        for (const label of await overlaps(page)) hold(false, say(`labels overlap: ${label}`));
        if (colorScheme === "light" && words !== "phone") {
          for (const what of await squeezed(page)) hold(false, say(what));
        }
        if (colorScheme === "light" && words === "wide") await rules(page, say, everyRule);
      // All pages have one style sheet, so its other colours and widths are looked at on one.
      if (words === "phone" && colorScheme === "dark" && kind === "audit") {
        await rules(page, say, ["color-contrast", "target-size"]);
      }
    });
    }
  }

  // The policy of the page stands here, as for any reader.
  if (!large) await open("driven", {}, async (page, say) => {
    const total = await shown(page);
    if (!total) {
      hold(!await page.locator("form.controls").count(), say("controls of nothing"));
      return;
    }
    const controls = await page.locator("form.controls").isVisible();
    hold(controls, say("no controls"));
    if (!controls) return;
    const name = await first(page);
    await page.getByRole("searchbox").fill(name);
    hold(await shown(page) >= 1 && await shown(page) <= total, say("filter by text"));
    hold(await first(page) === name, say("filter hides what was looked for"));
    await page.getByRole("searchbox").fill("no such query anywhere");
    hold(await shown(page) === 0, say("filter shows what does not match"));
    const answers = await page.locator(bodies).evaluateAll(
      (rows) => rows.reduce((sum, row) => sum + Number(row.dataset.answers ?? 1), 0));
    const status = await page.getByRole("status").textContent();
    hold(status === `0 of ${answers.toLocaleString("en")} shown`, say(`status ${status} ${answers}`));
    await page.getByRole("searchbox").fill("");
    hold(await shown(page) === total, say("filter cannot be undone"));

    const standing = page.locator("select[name=standing]");
    const kinds = await standing.locator("option").evaluateAll((all) => all.map((o) => o.value));
    let sum = 0;
    for (const value of kinds.slice(1)) {
      await standing.selectOption(value);
      const counted = await shown(page);
      const marks = await page.locator(`${bodies}:has([data-standing="${value}"])`).count();
      hold(counted === marks, say(`${value}: ${counted} shown, ${marks} expected`));
      sum += counted;
    }
    hold(kinds.length === 1 || sum >= total, say("some row has no standing"));
    hold(await standing.isVisible() === kinds.length > 1, say("a choice without a choice"));
    if (kinds.length > 1) await standing.selectOption("");

    if (kind === "compare") {
      await page.locator(".heat tbody a").last().click();
      const target = page.locator(`${bodies}:target details`).first();
      hold(await target.getAttribute("open") !== null, say("a link does not open its query"));
    }

    const table = page.locator("table.rows:not(.leaders)");
    for (const head of await table.locator("th[data-sort]").all()) {
      const button = head.getByRole("button");
      for (const [order, sign] of [["ascending", 1], ["descending", -1]]) {
        await button.focus();
        await page.keyboard.press("Enter");
        hold(await head.getAttribute("aria-sort") === order, say(`aria-sort is not ${order}`));
        const column = await head.evaluate((th) => th.cellIndex);
        const values = await table.evaluate((t, at) => [...t.tBodies].map(
          (body) => body.rows[0].cells[at].dataset.value).filter((v) => v !== undefined && v !== "")
          .map((v) => Number(v.replace("inf", "Infinity"))), column);
        const sorted = values.every((v, at) => !at || Number.isNaN(v) || v === values[at - 1]
          || Number.isNaN(values[at - 1]) || sign * (v - values[at - 1]) > 0);
        hold(sorted, say(`column ${column} is not ${order}`));
      }
      hold(await table.locator("[aria-sort]").count() === 1, say("two columns claim the order"));
    }
    hold(await page.locator(bodies).count() === total, say("sorting loses rows"));

    if (!await page.locator(`${bodies} > tr > td > details`).count()) {
      hold(!await page.locator("button[name=all]").isVisible(), say("a button that opens nothing"));
      return;
    }
    const button = page.getByRole("button", { name: /^(Open|Close) all$/ });
    if (await button.textContent() === "Close all") await button.click();
    await button.click();
    hold(await page.locator(`${bodies} > tr > td > details:not([open])`).count() === 0,
      say("Open all leaves some closed"));
    await button.click();
    hold(await page.locator(`${bodies} > tr > td > details[open]`).count() === 0,
      say("Close all leaves some open"));
  });

  if (!large) await open("without scripts", { javaScriptEnabled: false }, async (page, say) => {
    hold(!await page.locator("form.controls").isVisible(), say("controls that do nothing"));
    hold(await page.locator("thead button").count() === 0, say("buttons that do nothing"));
    const details = page.locator(`${bodies} > tr > td > details:not([open])`).first();
    if (await details.count()) {
      const panel = page.locator(`${bodies} .panel:visible`);
      const before = await panel.count();
      await details.locator("summary").first().click();
      hold(await panel.count() > before, say("a row does not open"));
    }
  });

  if (!large) await open("on paper", { colorScheme: "dark" }, async (page, say) => {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    const colours = await page.evaluate(() => {
      const style = getComputedStyle(document.body);
      return [style.color, style.backgroundColor];
    });
    hold(String(colours) === "rgb(0, 0, 0),rgb(255, 255, 255)", say(`printed in ${colours}`));
    hold(!await page.locator("form.controls").isVisible(), say("controls on paper"));
    const [heads, sheets] = await page.evaluate(() => [
      [...document.querySelectorAll("table.rows > thead")].every(
        (head) => getComputedStyle(head).display === "table-header-group"),
      [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).some(
        (rule) => rule instanceof CSSPageRule && rule.cssText.includes("counter(page)"))]);
    hold(heads, say("heads are not repeated"));
    hold(sheets, say("sheets have no numbers"));
    // The rows come first; the details of those that are open follow as an appendix, and come back.
    const rows = "table.rows > tbody > tr > td > details:not([data-answers])";
    const panels = page.locator(`${rows} > .panel`);
    const told = page.locator(".appendix > .panel");
    const paper = (event) => page.evaluate((name) => window.dispatchEvent(new Event(name)), event);
    await page.evaluate((which) => {
      for (const part of document.querySelectorAll(which)) part.open = false;
    }, rows);
    await paper("beforeprint");
    hold(await told.count() === 0, say("prints details that nobody opened"));
    await paper("afterprint");
    const every = await panels.count();
    await page.evaluate((which) => {
      for (const part of document.querySelectorAll(which)) part.open = true;
    }, rows);
    await paper("beforeprint");
    hold(await told.count() === every, say(`${await told.count()} of ${every} details are printed`));
    hold(await panels.count() === 0, say("details stand between the rows"));
    await paper("afterprint");
    hold(await panels.count() === every, say("paper changes the screen"));
    hold(await page.locator(".appendix").count() === 0, say("the appendix stays"));
    if (folder) await page.pdf({ path: path.join(folder, `${kind}.pdf`), format: "A4",
      margin: { top: "15mm", bottom: "15mm", left: "15mm", right: "15mm" } });
  });

  // A page whose rows are shown in pages, out of its data.
  if (large) await open("driven", {}, async (page, say) => {
    const status = page.locator("form.many [role=status]");
    const count = async () => Number((await status.textContent()).split(" ").at(-1).replace(",", ""));
    const rows = page.locator("table.many > tbody");
    const total = await count();
    hold(await rows.count() === 100, say("not a page of rows"));
    hold(!await page.locator("[data-without-script]").count(), say("speaks of no script"));
    const name = await rows.last().locator("th").first().textContent();
    await page.getByRole("button", { name: "Next" }).click();
    hold((await status.textContent()).startsWith("101 to 200 of "), say("second page"));
    hold(await rows.first().locator("th").first().textContent() !== name, say("the same rows"));
    await page.getByRole("button", { name: "Previous" }).click();
    hold(await page.getByRole("button", { name: "Previous" }).isDisabled(), say("before the first"));

    await page.getByRole("searchbox").fill(name);
    hold(await rows.count() >= 1, say("filter hides what was looked for"));
    await page.getByRole("searchbox").fill("no such query anywhere");
    hold(await rows.count() === 0, say("filter shows what does not match"));
    await page.getByRole("searchbox").fill("");
    const standing = page.locator("select[name=standing]");
    for (const label of (await standing.locator("option").allTextContents()).slice(1)) {
      await standing.selectOption({ label });
      hold(/^(\d+ to \d+|0) of [\d,]+ found of /.test(`${await status.textContent()}`)
        || await count() === total, say(`filter by ${label}`));
    }
    await standing.selectOption("");

    for (const head of await page.locator("table.many th[data-sort]").all()) {
      for (const order of ["ascending", "descending"]) {
        await head.getByRole("button").focus();
        await page.keyboard.press("Enter");
        hold(await head.getAttribute("aria-sort") === order, say(`aria-sort is not ${order}`));
      }
    }
    // The column of names is not always the second.
    const place = await rows.first().locator("tr").first().evaluate(
      (row) => [...row.children].findIndex((cell) => cell.tagName === "TH"));
    const byName = page.locator("table.many thead th").nth(place);
    await byName.getByRole("button").click();
    const names = await rows.locator("tr:first-child > th").allTextContents();
    const sorted = [...names].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    hold(String(names) === String(sorted), say("not sorted by name"));
    hold(await page.locator("table.many [aria-sort]").count() === 1, say("two orders"));

    await page.getByRole("button", { name: "Open all" }).click();
    hold(await rows.locator(".panel .told li").count() >= 100, say("details are not made"));
    hold(await rows.locator(".panel pre").count() >= 100, say("no SQL"));
    await page.getByRole("button", { name: "Close all" }).click();
    hold(await rows.locator("details[open]").count() === 0, say("Close all leaves some open"));
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    // A compared query has a sign of each candidate; the worst one counts.
    const fine = page.locator(
      "table.many > tbody:has(.badge.yes):not(:has(.badge.no, .badge.open))");
    hold(kind === "large-release" || await fine.count() === 0, say("prints what is fine"));
    hold(await page.getByText(/^Printed: [\d,]+ of [\d,]+$/).count() === 1, say("prints no count"));
    hold(await rows.count() <= 1000, say("prints too much"));
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    hold(await rows.count() === 100, say("paper changes the screen"));
  });

  if (large) await open("without scripts", { javaScriptEnabled: false }, async (page, say) => {
    hold(await page.locator("table.many > tbody").count() === 100, say("not the first rows"));
    hold(await page.locator("[data-without-script]").isVisible(), say("does not say what is missing"));
    hold(!await page.locator("form.many").isVisible(), say("controls that do nothing"));
    hold(!await page.locator("nav.pages").isVisible(), say("buttons that do nothing"));
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  ({ kind, view } = asked);
  large = kind.startsWith("large-");
  url = pathToFileURL(asked.file).href;
  problems = [];
  await look();
  console.log(JSON.stringify([...new Set(problems)]));
}
await browser.close();
