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

  function startTable(systems) {
    const table = byId("scores"), head = table.tHead.rows[0];
    head.replaceChildren();
    for (const name of ["segment", ...systems]) cell(head, "th", name, name === "segment" ? "" : "right").scope = "col";
    table.tBodies[0].replaceChildren();
    table.hidden = byId("progress").hidden = false;
    return table.tBodies[0];
  }

  async function score() {
    const { common, systems, count, ref, src } = request();
    const body = startTable(systems.keys());
    const sums = [...systems].map(() => 0);
    for (let start = 0; start < count; start += CHUNK) {
      const part = (texts) => texts.slice(start, start + CHUNK);
      const answers = await Promise.all([...systems.values()].map(async (cand) => (await send("/score", {
        ...common, metric: byId("metric").value, cand: part(cand), ref: ref.length ? [part(ref)] : [],
        ...(src.length ? { src: part(src) } : {}),
      })).json()));
      answers[0].segments.forEach((_, place) => {
        const row = body.insertRow();
        cell(row, "td", start + place + 1);
        answers.forEach((answer, system) => {
          sums[system] += answer.segments[place];
          cell(row, "td", answer.segments[place].toFixed(4), "right");
        });
      });
      const done = Math.min(start + CHUNK, count);
      byId("progress").value = done / count;
      const means = [...systems.keys()].map((name, system) => `${name} ${(sums[system] / done).toFixed(4)}`);
      byId("status").textContent = `${done} of ${count} segments. Mean of segments: ${means.join(", ")}. ${answers[0].signature}`;
    }
  }

  async function report() {
    const { common, systems, ref, src } = request();
    byId("status").textContent = "Comparing…";
    const answer = await send("/report", {
      ...common, metrics: [byId("metric").value], systems: Object.fromEntries(systems), ref: ref.length ? [ref] : [],
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
