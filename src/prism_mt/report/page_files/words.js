/** Words and marks of a text; scripts without spaces give single characters. */
function splitWords(text) {
  return text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}'’_-]+|[^\s]/gu) || [];
}

/** Steps that turn one list of words into another: [kind, word], kind is "same", "new" or "missing". */
function compareWords(output, reference) {
  const [n, m] = [output.length, reference.length];
  if (n * m > 4e6) return output.map((word) => ["same", word]); // too long to be looked at word by word
  const width = m + 1;
  const common = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      common[i * width + j] = output[i] === reference[j]
        ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  const steps = [];
  let [i, j] = [0, 0];
  while (i < n || j < m) {
    if (i < n && j < m && output[i] === reference[j]) {
      steps.push(["same", output[i]]);
      [i, j] = [i + 1, j + 1];
    } else if (j < m && (i === n || common[i * width + j + 1] > common[(i + 1) * width + j])) {
      steps.push(["missing", reference[j++]]);
    } else {
      steps.push(["new", output[i++]]);
    }
  }
  return steps;
}

/** An output with what it has beyond its nearest reference, and what it lacks. */
function showDifferences(output, references) {
  const words = splitWords(output);
  const all = references.map((reference) => compareWords(words, splitWords(reference)));
  const same = (steps) => steps.filter(([kind]) => kind === "same").length;
  const steps = all.sort((a, b) => same(b) - same(a))[0] || words.map((word) => ["same", word]);
  const line = make("div", "words");
  let at = 0, glued = false;
  for (const [kind, word] of steps) {
    if (kind === "missing") {
      line.append(" ", make("del", "", word));
      glued = false;
      continue;
    }
    const start = output.indexOf(word, at);
    if (!glued || start > at) line.append(" ");
    line.append(kind === "new" ? make("ins", "", word) : word);
    [at, glued] = [start + word.length, true];
  }
  return line;
}

/** Whether two lists of words share two words in a row, or one is a part of the other. */
function overlap(first, second) {
  const pairs = (words) => words.slice(1).map((word, place) => `${words[place]} ${word}`);
  if (first.length === 1 || second.length === 1) return first.length === 1 ? second.includes(first[0]) : first.includes(second[0]);
  return pairs(first).some((pair) => pairs(second).includes(pair));
}

/**
 * n-grams that one of two systems has more often where the reference has them, the most telling first. Of those that
 * overlap and have the same counts only the longest says something; those that occur once come where there is room.
 */
function tellingNgrams(ngrams, system, other, most = 8) {
  const weight = ([, , matches]) => (matches[system] + 1) / (matches[system] + matches[other] + 2);
  const counts = ([, reference, matches]) => `${reference} ${matches[system]} ${matches[other]}`;
  const isMark = (word) => /^[^\p{L}\p{N}]+$/u.test(word);
  const ordered = ngrams
    .filter(([, , matches]) => matches[system] > matches[other])
    .map((one) => [one, one[0].split(" ")])
    .filter(([, words]) => words.length === 1 || !(isMark(words[0]) || isMark(words.at(-1))))
    .sort(([a], [b]) => weight(b) - weight(a) || b[2][system] - a[2][system] || b[0].length - a[0].length);
  const chosen = [];
  for (const [one, words] of ordered) {
    if (chosen.length === most) break;
    if (!chosen.some(([other, others]) => counts(other) === counts(one) && overlap(words, others))) chosen.push([one, words]);
  }
  return chosen.map(([one]) => one);
}
