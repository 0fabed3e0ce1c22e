/** The facts that the person who started a server needs. */
export interface ServerFacts {
  readonly version: string;
  readonly store: string;
  readonly http: string;
  readonly tcp: string;
  /** A description of the callers that the server lets in. */
  readonly access: string;
  readonly tokensNeeded: boolean;
  /** The words that call this program in a shell. */
  readonly program: string;
}

/** Shows the addresses, and lines that can be copied into another shell as they are. */
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
