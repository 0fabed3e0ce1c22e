// The texts of the sample. They do not depend on the time, the machine or chance: two samples are alike.

/** A test run as a tool prints it. Agents run the same tests again and again, and the store keeps the output once. */
export function testLog(failing: string | undefined): string {
  const suites = ['lexer', 'grammar', 'tables', 'errors', 'unicode', 'recovery'];
  const lines = suites.flatMap((suite, index) =>
    Array.from({ length: 14 }, (_, test) => {
      const name = `${suite}/${String(test + 1).padStart(2, '0')}`;
      const millis = 3 + ((index * 31 + test * 17) % 40);
      return `${name === failing ? 'FAIL' : 'ok  '}  ${name.padEnd(14)} ${String(millis).padStart(3)} ms`;
    }),
  );
  const failures = failing === undefined ? 0 : 1;
  const end = `${lines.length} tests, ${lines.length - failures} passed, ${failures} failed`;
  return `${lines.join('\n')}\n${end}\n`;
}

export const SOURCE_FILE = `export function* tokens(text: string): Iterable<Token> {
  let at = 0;
  do {
    const token = readToken(text, at);
    at = token.end;
    yield token;
  } while (at <= text.length);
}
`;

export const FIXED_FILE: string = SOURCE_FILE.replace('at <= text.length', 'at < text.length');

export const ITINERARY: readonly string[] = [
  'Day one: arrive in Cusco, ',
  'walk slowly, drink coca tea, ',
  'and see the twelve-angled stone.\n',
  'Day two: Pisac, its terraces and its market.\n',
  'Day three: the museum of textiles, ',
  'where the knotted cords are.\n',
];

/** Long enough to stream for a minute at an easy pace. */
export const ESSAY = `A quipu has one thick cord from which thinner ones hang. On each of them knots are tied,
and the kind of a knot, its place and the colour of its cord say what it means. Ones have long knots with as many
turns as the number; tens, hundreds and thousands have clusters of single knots, each power of ten at its own
height. A cord without a knot at some height has a zero there, centuries before zero reached much of Europe. Cords
can hang from cords, so a total can stand beside its parts, and an audit is a matter of adding up. Nothing on a cord
can be changed without untying it in front of everyone. What is tied stays tied, and whoever wants to say
something else ties another cord beside it. That is a fair description of an append-only log with branches, and it was
in daily use on roads as long as the circumference of the earth.`;
