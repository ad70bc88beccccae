const ROW = 56; // 3.5rem, as the style sheet has it
const STRONGEST = 8; // a log-probability of -8 has the strongest color

/** The part of the page that looks at single segments: list, scatter plot, n-grams and one segment with its outputs. */
function browse(data) {
  const count = data.outputs[0].length;
  const list = byId("list"), rows = byId("rows"), detail = byId("detail");
  const control = Object.fromEntries(["query", "metric", "system", "other", "sort", "show", "outputs", "color"].map((id) => [id, byId(id)]));
  const fill = (select, names) => names.forEach((name, place) => {
    const option = make("option", "", name);
    option.value = place;
    select.append(option);
  });
  fill(control.metric, data.metrics.map((metric) => metric.name));
  fill(control.system, data.systems);
  fill(control.other, data.systems);
  control.system.value = data.baseline;
  control.other.value = data.systems.length > 1 && data.baseline === 0 ? 1 : 0;
  if (!Object.keys(data.traces).length && !Object.keys(data.spans).length) control.color.value = "words";
  if (!data.references.length) control.color.querySelector("[value=words]").disabled = true;
  const scatter = makeScatter(byId("scatter"), byId("tip"), open);
  let found = [], selected = -1, percentiles = null;
  const given = [data.source, ...data.references].filter(Boolean);
  const lower = new Map();

  const metric = () => data.metrics[control.metric.value];
  const score = (system, segment) => metric().scores[system][segment];
  const merit = (system, segment) => (metric().lower ? -1 : 1) * score(system, segment);
  const difference = (segment) => merit(control.system.value, segment) - merit(control.other.value, segment);
  const written = (value, one = metric()) => signed(value.toFixed(one.digits));
  const flagsOf = (system, segment) => data.flags[system][segment] || [];

  /** The systems whose outputs are looked at: all, or the one or two that are chosen. */
  function active() {
    if (control.outputs.value === "all") return data.systems.map((_, system) => system);
    return [...new Set([Number(control.system.value), Number(control.other.value)])];
  }

  function has(texts, segment, wanted) {
    if (!lower.has(texts)) lower.set(texts, texts.map((text) => text.toLocaleLowerCase()));
    return lower.get(texts)[segment].includes(wanted);
  }

  /** For every metric the share of all outputs that an output is better than. */
  function ranks() {
    percentiles ??= data.metrics.map((one) => {
      const all = one.scores.flat();
      const order = all.map((_, place) => place).sort((a, b) => (one.lower ? -1 : 1) * (all[a] - all[b]));
      const places = new Float32Array(all.length);
      order.forEach((place, rank) => { places[place] = rank / all.length; });
      return places;
    });
    return percentiles;
  }

  function disagreement(segment) {
    const place = control.system.value * count + segment;
    const values = ranks().map((places) => places[place]);
    return Math.max(...values) - Math.min(...values);
  }

  const ORDERS = {
    number: (segment) => segment,
    worst: (segment) => merit(control.system.value, segment),
    best: (segment) => -merit(control.system.value, segment),
    loses: difference,
    wins: (segment) => -difference(segment),
    disagree: (segment) => -disagreement(segment),
  };

  function shown(segment, systems) {
    if (control.show.value === "flagged") return systems.some((system) => flagsOf(system, segment).length);
    if (control.show.value === "differ")
      return data.outputs[control.system.value][segment] !== data.outputs[control.other.value][segment];
    return true;
  }

  function update() {
    const wanted = control.query.value.trim().toLocaleLowerCase();
    const key = ORDERS[control.sort.value];
    const systems = active();
    const texts = [...given, ...systems.map((system) => data.outputs[system])];
    const matches = (segment) => `${segment + 1}`.includes(wanted) || texts.some((some) => has(some, segment, wanted));
    found = [];
    for (let segment = 0; segment < count; segment++)
      if (shown(segment, systems) && (!wanted || matches(segment))) found.push(segment);
    const keys = new Map(found.map((segment) => [segment, key(segment)]));
    found.sort((a, b) => keys.get(a) - keys.get(b) || a - b);
    byId("count").textContent = `${found.length.toLocaleString("en")} of ${count.toLocaleString("en")} segments`;
    rows.style.height = `${found.length * ROW}px`;
    list.scrollTop = 0;
    select(0);
  }

  /** What two systems have to do with one another: the plot, and the n-grams that each gets right more often. */
  function pair() {
    const [system, other] = [Number(control.system.value), Number(control.other.value)];
    const two = system !== other;
    byId("pair").hidden = !two;
    if (!two) return;
    const names = [data.systems[system], data.systems[other]];
    const higher = (place) => difference(place) > 0 ? names[0] : difference(place) < 0 ? names[1] : "neither";
    scatter.render({
      x: metric().scores[system],
      y: metric().scores[other],
      names: names.map((name) => `${name}: ${metric().name}`),
      tell: (place) => `#${place + 1}: ${names[0]} ${written(score(system, place))}, ${names[1]} ${written(score(other, place))}; better: ${higher(place)}`,
    });
    if (selected >= 0) scatter.mark(found[selected]);
    byId("side").textContent = `Above the line ${metric().lower ? names[0] : names[1]} is better.`;
    const lists = [[system, other], [other, system]].map(([one, against]) => {
      const box = make("div");
      box.append(make("h4", "", `${data.systems[one]} gets right more often`));
      const telling = tellingNgrams(data.ngrams, one, against);
      if (!telling.length) box.append(make("p", "note", "nothing"));
      const table = make("table", "ngrams");
      for (const [text, reference, matches] of telling) {
        const row = table.insertRow();
        const button = make("button", "", text);
        button.type = "button";
        button.addEventListener("click", () => search(text));
        row.insertCell().append(button);
        row.insertCell().textContent = `${matches[one]} : ${matches[against]}`;
        row.insertCell().textContent = `of ${reference}`;
      }
      box.append(table);
      return box;
    });
    byId("ngrams").hidden = !data.ngrams.length;
    byId("ngram-lists").replaceChildren(...lists);
  }

  /** Words are separated in n-grams, but not in texts: the longest of them is looked for. */
  function search(ngram) {
    control.query.value = ngram.split(" ").sort((a, b) => b.length - a.length)[0];
    update();
    list.focus();
    list.scrollIntoView({ block: "center" });
  }

  /** Show a segment, whatever is filtered. */
  function open(segment) {
    if (!found.includes(segment)) {
      control.query.value = "";
      control.show.value = "all";
      update();
    }
    select(found.indexOf(segment));
    detail.scrollIntoView({ block: "nearest" });
  }

  function makeRow(place) {
    const segment = found[place];
    const row = make("div", "row");
    row.id = `row-${place}`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", place === selected);
    row.setAttribute("aria-setsize", found.length);
    row.setAttribute("aria-posinset", place + 1);
    row.style.top = `${place * ROW}px`;
    const head = make("div", "head");
    head.append(make("b", "", `#${segment + 1}`), make("span", "", written(score(control.system.value, segment))));
    if (control.other.value !== control.system.value) {
      const gap = difference(segment);
      const size = written(Math.abs(gap));
      head.append(make("span", "", Number(size) === 0 ? "equal" : `${gap > 0 ? "wins by" : "loses by"} ${size}`));
    }
    if (active().some((system) => flagsOf(system, segment).length)) head.append(make("span", "flag", "warning"));
    row.append(head, make("div", "snippet", data.outputs[control.system.value][segment] || "(empty)"));
    row.addEventListener("click", () => select(place));
    return row;
  }

  /** Only the rows that can be seen exist. */
  function draw() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 4);
    const last = Math.min(found.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 4);
    rows.replaceChildren(...Array.from({ length: Math.max(0, last - first) }, (_, place) => makeRow(first + place)));
  }

  function select(place) {
    selected = Math.min(Math.max(place, 0), found.length - 1);
    const top = selected * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    draw();
    if (selected >= 0) list.setAttribute("aria-activedescendant", `row-${selected}`);
    else list.removeAttribute("aria-activedescendant");
    detail.replaceChildren(...(selected >= 0 ? describe(found[selected]) : []));
    if (selected >= 0) scatter.mark(found[selected]);
  }

  function describe(segment) {
    const parts = [make("h3", "", `Segment ${segment + 1}`)];
    const show = (label, text) => {
      const box = make("div", "given");
      box.append(make("div", "label", label), make("div", "", text));
      parts.push(box);
    };
    if (data.source) show("source", data.source[segment]);
    data.references.forEach((texts, place) =>
      show(data.references.length > 1 ? `reference ${place + 1}` : "reference", texts[segment]));
    const order = active().sort((a, b) => merit(b, segment) - merit(a, segment));
    return [...parts, ...order.map((system) => describeOutput(system, segment))];
  }

  function describeOutput(system, segment) {
    const box = make("section", "output");
    const head = make("h4", "", data.systems[system]);
    const scores = data.metrics.map((one) => `${one.name} ${written(one.scores[system][segment], one)}`);
    head.append(make("small", "", scores.join(" · ")));
    for (const word of flagsOf(system, segment)) head.append(make("span", "flag", word));
    box.append(head);
    const traces = Object.values(data.traces).flatMap((bySegment) => bySegment[segment][system]);
    const references = data.references.map((texts) => texts[segment]);
    if (control.color.value === "errors") {
      for (const [name, bySystem] of Object.entries(data.spans)) {
        if (Object.keys(data.spans).length > 1) box.append(make("div", "label", name));
        box.append(...showErrors(data.outputs[system][segment], data.source?.[segment] ?? null, references, bySystem[system][segment]));
      }
      return box;
    }
    if (control.color.value === "words" || !traces.length) {
      box.append(showDifferences(data.outputs[system][segment], references));
      return box;
    }
    for (const trace of traces) box.append(make("div", "label", trace[0].replace("hypothesis", "output").replace("|", " given ")), pieces(trace));
    return box;
  }

  function pieces([direction, text, scores]) {
    const line = make("div", "pieces");
    line.setAttribute("role", "group");
    line.setAttribute("aria-label", `${direction.replace("|", " given ")}: pieces with log-probabilities`);
    const values = scores.split(" ").map((value) => -value / 100);
    const worst = values.indexOf(Math.min(...values));
    text.split("\n").forEach((piece, place) => {
      const shownPiece = piece === "</s>" ? " ∎" : piece.replaceAll("▁", " ");
      const span = make("span", place === worst ? "piece worst" : "piece", shownPiece);
      span.style.setProperty("--alpha", Math.min(1, Math.max(0, -values[place] / STRONGEST)).toFixed(3));
      span.dataset.score = signed(values[place].toFixed(2));
      span.tabIndex = place ? -1 : 0;
      span.setAttribute("aria-label", `${shownPiece.trim()} ${span.dataset.score}`);
      line.append(span);
    });
    line.addEventListener("keydown", (event) => {
      const next = { ArrowRight: "nextElementSibling", ArrowLeft: "previousElementSibling" }[event.key];
      if (next) document.activeElement[next]?.focus();
    });
    return line;
  }

  list.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
    if (!(event.key in steps)) return;
    event.preventDefault();
    select(selected + steps[event.key]);
  });
  list.addEventListener("scroll", () => requestAnimationFrame(draw));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").addEventListener("input", (event) => {
    for (const [name, legend] of [["errors", "error-legend"], ["words", "word-legend"], ["probability", "scale-legend"]])
      byId(legend).hidden = control.color.value !== name;
    if (event.target === control.color) return select(selected);
    update();
    pair();
  });
  byId("controls").dispatchEvent(new Event("input"));
}

