/** Segment scores of two systems; a point opens its segment. `open(segment)` is called by mouse and keyboard. */
function makeScatter(svg, tip, open) {
  const LEFT = 52, BOTTOM = 44, TOP = 8, RIGHT = 12;
  let points = [], order = [], current = -1, state = null;
  const ring = draw("circle", { r: 7, class: "ring" });

  function place(values, low, high, from, to) {
    const span = high - low || 1;
    return values.map((value) => from + ((value - low) / span) * (to - from));
  }

  /** Draw everything anew: `state` has x, y (scores), names of both axes, and a text for every point. */
  function render(next) {
    state = next || state;
    if (!state) return;
    const width = Math.max(240, svg.clientWidth), height = Math.max(220, svg.clientHeight);
    const all = state.x.concat(state.y);
    const low = Math.min(...bounds(all)), high = Math.max(...bounds(all));
    const margin = (high - low || 1) * 0.04;
    const [from, to] = [low - margin, high + margin];
    const xs = place(state.x, from, to, LEFT, width - RIGHT), ys = place(state.y, from, to, height - BOTTOM, TOP);
    points = xs.map((x, segment) => [x, ys[segment]]);
    order = points.map((_, segment) => segment).sort((a, b) => points[a][0] - points[b][0] || points[a][1] - points[b][1]);
    const parts = [];
    for (const mark of ticks(from, to, width < 420 ? 4 : 6)) {
      const [x] = place([mark], from, to, LEFT, width - RIGHT), [y] = place([mark], from, to, height - BOTTOM, TOP);
      parts.push(draw("line", { x1: x, x2: x, y1: TOP, y2: height - BOTTOM, class: "grid" }),
        draw("line", { x1: LEFT, x2: width - RIGHT, y1: y, y2: y, class: "grid" }),
        draw("text", { x, y: height - BOTTOM + 16, "text-anchor": "middle", class: "tick" }, signed(mark)),
        draw("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end", class: "tick" }, signed(mark)));
    }
    parts.push(draw("line", { x1: LEFT, y1: height - BOTTOM, x2: width - RIGHT, y2: TOP, class: "diagonal" }),
      draw("path", { d: points.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join(""), class: "points" }),
      draw("text", { x: (LEFT + width - RIGHT) / 2, y: height - 8, "text-anchor": "middle" }, state.names[0]),
      draw("text", { x: 14, y: (TOP + height - BOTTOM) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(TOP + height - BOTTOM) / 2})` }, state.names[1]),
      ring);
    svg.replaceChildren(...parts);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    mark(current);
  }

  /** Lowest and highest number; a spread of all as arguments would be too many for a call. */
  function bounds(values) {
    return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  }

  function mark(segment) {
    current = segment < points.length ? segment : -1;
    ring.style.display = current < 0 ? "none" : "";
    if (current < 0) return;
    ring.setAttribute("cx", points[current][0]);
    ring.setAttribute("cy", points[current][1]);
    tip.textContent = state.tell(current);
  }

  function nearest(event) {
    const box = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [best, closest] = [-1, 24 ** 2]; // a finger is not more exact
    points.forEach(([px, py], segment) => {
      const distance = (px - x) ** 2 + (py - y) ** 2;
      if (distance < closest) [best, closest] = [segment, distance];
    });
    return best;
  }

  svg.addEventListener("pointermove", (event) => {
    const segment = nearest(event);
    svg.style.cursor = segment < 0 ? "" : "pointer";
    if (segment >= 0) mark(segment);
  });
  svg.addEventListener("click", (event) => {
    const segment = nearest(event);
    if (segment >= 0) open(segment);
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (step) mark(order[Math.min(order.length - 1, Math.max(0, (current < 0 ? -1 : order.indexOf(current)) + step))]);
    else if ((event.key === "Enter" || event.key === " ") && current >= 0) open(current);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => render()).observe(svg);
  return { render, mark };
}
