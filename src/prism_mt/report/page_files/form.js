"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const CHUNK = 32; // segments per request, so that scores appear as they come

  for (const input of document.querySelectorAll("input[type=file]"))
    input.addEventListener("change", async () => {
      if (input.files.length) byId(input.dataset.for).value = await input.files[0].text();
    });

  /** Lines of a text field; the line feed at its end is not an empty segment. */
  function lines(id) {
    const text = byId(id).value.replace(/\r?\n$/, "");
    return text ? text.split(/\r?\n/) : [];
  }

  function request() {
    const common = { lang: byId("lang").value.trim(), model: byId("model").value };
    if (byId("src-lang").value.trim()) common.src_lang = byId("src-lang").value.trim();
    return { common, systems: { A: lines("a"), ...(lines("b").length ? { B: lines("b") } : {}) }, ref: lines("ref"), src: lines("src") };
  }

  async function send(path, body) {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error((await answer.json()).error);
    return answer;
  }

  async function score() {
    const { common, systems, ref, src } = request();
    const columns = Object.values(systems), count = columns[0].length;
    const body = byId("scores").tBodies[0];
    body.replaceChildren();
    byId("scores").hidden = byId("progress").hidden = false;
    for (let start = 0; start < Math.max(count, 1); start += CHUNK) {
      const part = (texts) => texts.slice(start, start + CHUNK);
      const answers = await Promise.all(columns.map(async (cand) => (await send("/score", {
        ...common, metric: byId("metric").value, cand: part(cand), ref: ref.length ? [part(ref)] : [],
        ...(src.length ? { src: part(src) } : {}),
      })).json()));
      answers[0].segments.forEach((_, place) => {
        const row = body.insertRow();
        row.insertCell().textContent = start + place + 1;
        for (const answer of answers) {
          const cell = row.insertCell();
          cell.className = "right";
          cell.textContent = answer.segments[place].toFixed(4);
        }
      });
      byId("progress").value = Math.min(1, (start + CHUNK) / count);
      byId("status").textContent = `${Math.min(start + CHUNK, count)} of ${count} segments. ${answers[0].signature}`;
    }
  }

  async function report() {
    const { common, systems, ref, src } = request();
    byId("status").textContent = "Comparing…";
    const answer = await send("/report", {
      ...common, metrics: [byId("metric").value], systems, ref: ref.length ? [ref] : [], ...(src.length ? { src } : {}),
    });
    const address = URL.createObjectURL(new Blob([await answer.text()], { type: "text/html" }));
    const link = document.createElement("a");
    Object.assign(link, { href: address, download: "report.html", textContent: "Save the report" });
    byId("link").replaceChildren(link);
    byId("page").src = address;
    byId("page").hidden = false;
    byId("status").textContent = "The report is below.";
  }

  const tell = (error) => { byId("status").textContent = `Not scored: ${error.message}`; };
  byId("texts").addEventListener("submit", (event) => {
    event.preventDefault();
    score().catch(tell);
  });
  byId("report").addEventListener("click", () => report().catch(tell));
})();
