"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const CHUNK = 32; // segments per request, so that scores appear as they come

  /** The first free letter, or number beyond them. */
  function freeName() {
    const taken = names();
    for (let place = 0; ; place++) {
      const name = place < 26 ? String.fromCharCode(65 + place) : `${place + 1}`;
      if (!taken.includes(name)) return name;
    }
  }

  const boxes = () => [...byId("systems").children];
  const names = () => boxes().map((box) => box.querySelector(".name").value.trim());

  function addSystem(name) {
    const box = byId("system").content.firstElementChild.cloneNode(true);
    const [field, text, file] = ["input.name", "textarea", "input[type=file]"].map((what) => box.querySelector(what));
    field.value = name || freeName();
    const label = () => {
      text.setAttribute("aria-label", `Outputs of ${field.value}`);
      file.setAttribute("aria-label", `Files of ${field.value} and further systems`);
      box.querySelector(".remove").setAttribute("aria-label", `Remove ${field.value}`);
    };
    field.addEventListener("input", label);
    label();
    file.addEventListener("change", () => openFiles(box, [...file.files]));
    box.querySelector(".remove").addEventListener("click", () => {
      box.remove();
      if (!boxes().length) addSystem();
      byId("add").focus();
    });
    byId("systems").append(box);
    return box;
  }

  /** The first file belongs to the system, every further one is a system more; files give their names. */
  async function openFiles(first, files) {
    for (const [place, file] of files.entries()) {
      const box = place ? addSystem(file.name) : first;
      if (!place) box.querySelector(".name").value = file.name;
      box.querySelector(".name").dispatchEvent(new Event("input"));
      box.querySelector("textarea").value = await file.text();
    }
  }

  for (const input of document.querySelectorAll("input[data-for]"))
    input.addEventListener("change", async () => {
      if (input.files.length) byId(input.dataset.for).value = await input.files[0].text();
    });

  /** Lines of a text field; the line feed at its end is not an empty segment. */
  function lines(field) {
    const text = field.value.replace(/\r?\n$/, "");
    return text ? text.split(/\r?\n/) : [];
  }

  function request() {
    const common = { lang: byId("lang").value.trim(), model: byId("model").value };
    if (byId("src-lang").value.trim()) common.src_lang = byId("src-lang").value.trim();
    const filled = boxes().filter((box) => lines(box.querySelector("textarea")).length);
    if (!filled.length) throw new Error("there are no outputs");
    const systems = new Map(filled.map((box) => [box.querySelector(".name").value.trim(), lines(box.querySelector("textarea"))]));
    if (systems.size < filled.length || systems.has("")) throw new Error("every system needs a name of its own");
    const [ref, src] = [lines(byId("ref")), lines(byId("src"))];
    const count = Math.max(...[...systems.values(), ref, src].map((texts) => texts.length));
    for (const [name, texts] of [...systems, ["the reference", ref], ["the source", src]])
      if (texts.length && texts.length !== count) throw new Error(`${name} has ${texts.length} lines, others have ${count}`);
    return { common, systems, count, ref, src };
  }

  async function send(path, body) {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error((await answer.json()).error);
    return answer;
  }

  function cell(row, tag, text, className) {
    const made = document.createElement(tag);
    made.className = className || "";
    made.textContent = text;
    row.append(made);
    return made;
  }

  const metrics = () => [...byId("metrics").querySelectorAll("input:checked")].map((box) => box.value);

  function startTable(id, names, numbers) {
    const table = byId(id), head = table.tHead.rows[0];
    head.replaceChildren();
    for (const name of [...names, ...numbers]) cell(head, "th", name, numbers.includes(name) ? "right" : "").scope = "col";
    table.tBodies[0].replaceChildren();
    table.hidden = false;
    return table.tBodies[0];
  }

  /** Means so far, a row per system. */
  function showMeans(systems, wanted, sums, done) {
    const body = startTable("means", ["mean of segments"], wanted);
    [...systems.keys()].forEach((name, system) => {
      const row = body.insertRow();
      cell(row, "th", name).scope = "row";
      for (const sum of sums[system]) cell(row, "td", (sum / done).toFixed(4), "right");
    });
  }

  /** A text in a row of its own, with its scores where it has any. */
  function showText(body, number, who, text, scores, width, className) {
    const row = body.insertRow();
    row.className = className;
    cell(row, "td", number);
    cell(row, "th", who).scope = "row";
    cell(row, "td", text, "text");
    for (let place = 0; place < width; place++) cell(row, "td", scores ? scores[place].toFixed(4) : "", "right");
  }

  async function score() {
    const { common, systems, count, ref, src } = request();
    const wanted = metrics();
    if (!wanted.length) throw new Error("no metric is chosen");
    const body = startTable("scores", ["segment", "system", "text"], wanted);
    byId("progress").hidden = false;
    const sums = [...systems].map(() => wanted.map(() => 0));
    for (let start = 0; start < count; start += CHUNK) {
      const part = (texts) => texts.slice(start, start + CHUNK);
      const answers = await Promise.all([...systems.values()].map(async (cand) => (await (await send("/score", {
        ...common, metrics: wanted, cand: part(cand), ref: part(ref), ...(src.length ? { src: part(src) } : {}),
      })).json()).metrics));
      const done = Math.min(start + CHUNK, count);
      for (let segment = start; segment < done; segment++) {
        if (src.length) showText(body, segment + 1, "source", src[segment], null, wanted.length, "given");
        if (ref.length) showText(body, segment + 1, "reference", ref[segment], null, wanted.length, "given");
        [...systems].forEach(([name, texts], system) => {
          const scores = answers[system].map((answer) => answer.segments[segment - start]);
          scores.forEach((value, place) => { sums[system][place] += value; });
          showText(body, segment + 1, name, texts[segment], scores, wanted.length, "");
        });
      }
      byId("progress").value = done / count;
      showMeans(systems, wanted, sums, done);
      byId("status").textContent = `${done} of ${count} segments. ${answers[0].map((answer) => answer.signature).join(" · ")}`;
    }
  }

  async function report() {
    const { common, systems, ref, src } = request();
    byId("status").textContent = "Comparing…";
    const answer = await send("/report", {
      ...common, metrics: metrics(), systems: Object.fromEntries(systems), ref,
      ...(src.length ? { src } : {}),
    });
    const address = URL.createObjectURL(new Blob([await answer.text()], { type: "text/html" }));
    const link = document.createElement("a");
    Object.assign(link, { href: address, download: "report.html", textContent: "Save the report" });
    byId("link").replaceChildren(link);
    byId("page").src = address;
    byId("page").hidden = false;
    byId("status").textContent = "The report is below.";
  }

  /** One thing at a time; what goes wrong is told. */
  async function attempt(work) {
    const buttons = [...byId("texts").querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    try {
      await work();
    } catch (error) {
      byId("status").textContent = `Not scored: ${error.message}`;
    }
    for (const button of buttons) button.disabled = false;
  }

  byId("texts").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(score);
  });
  byId("report").addEventListener("click", () => attempt(report));
  byId("add").addEventListener("click", () => addSystem().querySelector("textarea").focus());
  addSystem();
  addSystem();
})();
