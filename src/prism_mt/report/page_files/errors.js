/** A text with its errors marked; places count characters, not the halves of which JavaScript makes some. */
function markErrors(text, spans, className) {
  const line = make("div", className);
  const letters = Array.from(text);
  let done = 0;
  for (const [, start, end, severity, percent] of [...spans].sort((a, b) => a[1] - b[1])) {
    if (start < done) continue; // found beside another reference, too
    line.append(letters.slice(done, start).join(""));
    const mark = make("mark", severity, letters.slice(start, end).join(""));
    mark.dataset.tip = `${severity} error, ${percent} %`;
    mark.tabIndex = 0;
    mark.setAttribute("aria-label", `${mark.textContent}: ${mark.dataset.tip}`);
    line.append(mark);
    done = end;
  }
  line.append(letters.slice(done).join(""));
  return line;
}

/** An output with what is wrong in it, then each text of which something is missing in it. */
function showErrors(output, source, references, spans) {
  const parts = [markErrors(output, spans.filter(([part]) => part === "hypothesis"), "words")];
  const others = references.map((text, place) => ["reference", place, text]);
  if (source !== null) others.push(["source", 0, source]);
  for (const [part, place, text] of others) {
    const missing = spans.filter((span) => span[0] === part && span[5] === place);
    if (!missing.length) continue;
    const label = part === "reference" && references.length > 1 ? `reference ${place + 1}` : part;
    parts.push(make("div", "label", `missing from the output, marked in the ${label}`), markErrors(text, missing, "words missing"));
  }
  if (!spans.length) parts.push(make("div", "label", "no errors found"));
  return parts;
}
