/** What whoever started a server needs to know. */
export interface ServerFacts {
  readonly version: string;
  readonly store: string;
  readonly http: string;
  readonly tcp: string;
  /** Who is let in, in words. */
  readonly access: string;
  readonly tokensNeeded: boolean;
  /** How to call this program in a shell. */
  readonly program: string;
}

/** The addresses, and lines that can be copied into another shell as they are. */
export function toBanner(facts: ServerFacts): string {
  const { version, store, http, tcp, access, tokensNeeded, program } = facts;
  const token = tokensNeeded ? [`export QUIPU_TOKEN=<a token from: ${program} token create>`] : [];
  const lines = [
    `Quipu ${version} is serving ${store}`,
    '',
    `  http    ${http}`,
    `  tcp     ${tcp}`,
    `  access  ${access}`,
    '',
    'Append the first turn from another shell:',
    '',
    ...[
      `export QUIPU_STORE=${tcp}`,
      ...token,
      `ctx=$(${program} context create --title "my first thread")`,
      `${program} context append $ctx --type chat.message --json-payload '{"role":"user","text":"hi"}'`,
      `${program} context last $ctx`,
    ].map((line) => `  ${line}`),
    '',
    'Ctrl-C stops it.',
  ];
  return `${lines.join('\n')}\n`;
}
