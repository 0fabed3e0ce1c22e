import { setTimeout as sleep } from 'node:timers/promises';
import type { ContextId, TurnId } from '../base/brand.ts';
import { invalid } from '../base/errors.ts';
import type { Store } from '../store/store.ts';

// The texts of the sample. They do not depend on the time, the machine or chance: two samples are alike.

const SOURCE_FILE = `export function* tokens(text: string): Iterable<Token> {
  let at = 0;
  do {
    const token = readToken(text, at);
    at = token.end;
    yield token;
  } while (at <= text.length);
}
`;

const ITINERARY: readonly string[] = [
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

/** A workflow that people may run on: its roles only say something. */
const BUNDLE = `export const descriptor = {
  name: 'solve-issue',
  description: 'Plan, code and review.',
  maxRounds: 10,
  roles: {
    planner: { description: 'Makes a plan.', command: 'echo One step will do.' },
    coder: { description: 'Takes a step.', command: 'echo The step is done.' },
    reviewer: { description: 'Looks at it.', command: 'echo Good.' },
  },
};
export const table = {
  __start__: 'planner',
  planner: 'coder',
  coder: 'reviewer',
  reviewer: '__end__',
};
`;

const PAUSE_MS = 400;

/** The parts of the sample that a caller can continue. */
export interface Demo {
  readonly contexts: number;
  /** The conversation that `writeSlowly` continues. */
  readonly live: ContextId;
}

/** Fills an empty store with a sample that shows what a store is for. INVALID when the store is not empty. */
export async function fillDemo(store: Store): Promise<Demo> {
  const { contexts, turns, blobs } = await store.maintain.stats();
  if (contexts > 0 || turns > 0 || blobs > 0) {
    throw invalid(
      '--demo',
      'fills an empty store only, and this one is in use; name another one with: --demo --store ./sample',
    );
  }
  const failure = await fixParser(store);
  await tryOtherWays(store, failure);
  await reportIncidents(store);
  await planTrip(store);
  await askBack(store);
  await solveIssue(store);
  await fillInbox(store);
  await keepSession(store);
  const live = await createContext(store, 'How did the quipu work?', ['chat', 'live']);
  await say(store, live, 'user', 'How did people keep accounts with knots? Take your time.');
  const { items } = await store.contexts.list({ limit: 100 });
  return { contexts: items.length, live };
}

/** An agent repairs a program; three of its four test runs print the same. Returns the turn to branch from. */
async function fixParser(store: Store): Promise<TurnId> {
  const id = await createContext(store, 'Fix the parser on empty input', ['bug', 'parser']);
  await say(store, id, 'system', 'You repair programs. Run the tests after every change.');
  await say(store, id, 'user', 'lexer/07 fails since yesterday. Find out why and repair it.');
  await runTool(store, id, RUN_TESTS, testLog('lexer/07'));
  await runTool(store, id, READ, SOURCE_FILE);
  const failure = await say(
    store,
    id,
    'assistant',
    'On empty input the parser runs the loop body once more then it should.',
  );
  await store.contexts.patch(failure, {
    ...answered(12_480, 182),
    text: [
      'On empty input the parser runs the loop body once more than it should. I see three ways:',
      '',
      '- compare with `<` in place of `<=`;',
      '- a rule for an empty file in the grammar;',
      '- a `while` loop, which asks before it reads.',
    ].join('\n'),
  });
  await runTool(store, id, RUN_TESTS, testLog('lexer/07'));
  const leak = await runTool(
    store,
    id,
    { name: 'Bash', input: { command: 'env' } },
    'API_KEY=sk-demo-0000 PATH=/usr/bin',
  );
  await store.contexts.tombstone(leak, 'a secret was printed');
  await store.contexts.appendBatch(id, [
    { type: 'tool.call', payload: edit('while (at <= text.length)', 'while (at < text.length)') },
    { type: 'tool.result', payload: { name: 'Edit', output: 'src/lexer/tokens.ts: 1 change' } },
  ]);
  await runTool(store, id, RUN_TESTS, testLog(undefined));
  await store.contexts.append(id, {
    type: 'chat.message',
    payload: {
      ...answered(14_912, 96),
      text: 'The comparison must be `<`, not `<=`: an empty text has no token. All tests pass.',
    },
  });
  return failure;
}

/** Two more attempts from the same point. They share the turns before it. */
async function tryOtherWays(store: Store, from: TurnId): Promise<void> {
  const fork = async (title: string): Promise<ContextId> =>
    (await store.contexts.fork(from, { title, kind: 'agent', labels: ['parser', 'attempt'] })).id;
  const grammar = await fork('try a grammar rule');
  await say(store, grammar, 'assistant', 'Perhaps the grammar lacks a rule for an empty file.');
  await runTool(store, grammar, RUN_TESTS, testLog('lexer/07'));
  await say(store, grammar, 'assistant', 'No: the same test fails. I give this up.');

  const rewrite = await fork('rewrite the loop');
  const loop = edit('  do {', '  while (at < text.length) {');
  await runTool(store, rewrite, loop, 'src/lexer/tokens.ts: 1 change');
  await runTool(store, rewrite, RUN_TESTS, testLog(undefined));
  await say(store, rewrite, 'assistant', 'A while loop is clearer, and the tests pass.');
}

/** Another agent produces outputs that are in the store already. */
async function reportIncidents(store: Store): Promise<void> {
  const id = await createContext(store, 'Weekly report: incidents', ['report']);
  await say(store, id, 'user', 'What went wrong in the builds this week?');
  for (let day = 1; day <= 5; day += 1) {
    const url = `https://ci.example/parser/days/${day}`;
    const log = testLog(day < 4 ? 'lexer/07' : undefined);
    await runTool(store, id, { name: 'Fetch', input: { url } }, log);
  }
  await say(store, id, 'assistant', 'One cause, three red days: the parser on empty input.');
}

/** Answers that were streamed: one is complete, one was cut off by its reader. */
async function planTrip(store: Store): Promise<void> {
  const id = await createContext(store, 'Three days in Cusco', ['chat', 'travel']);
  await say(store, id, 'user', 'Plan three easy days in Cusco.');
  const cut = await store.contexts.open(id, { type: 'chat.message' });
  await cut.write('Day one: climb Huayna Picchu before dawn, then');
  await cut.abort('the reader wanted something easier');
  await say(store, id, 'user', 'Easier, please: the air is thin.');
  const answer = await store.contexts.open(id, { type: 'chat.message' });
  for (const piece of ITINERARY) await answer.write(piece);
  await answer.seal();
}

/** A chat whose assistant waits for answers. */
async function askBack(store: Store): Promise<void> {
  const { id } = await store.chats.create({ title: 'Which database for audit logs?' });
  const chat = await store.chats.open(id);
  await chat.add({ role: 'user', content: 'Where should we keep the audit logs?' });
  await chat.add({
    role: 'assistant',
    content: 'That depends on **how long** you keep them and **who** reads them.',
  });
  await chat.ask([
    { id: 'days', text: 'For how many days must a log stay readable?', kind: 'text' },
    { id: 'reader', text: 'Who reads them?', kind: 'single', options: ['auditors', 'everyone'] },
  ]);
}

/** A workflow of three roles that came to its end. */
async function solveIssue(store: Store): Promise<void> {
  const { workflows } = store;
  await workflows.bundles.add(BUNDLE);
  const { id } = await workflows.start({
    name: 'solve-issue',
    prompt: 'The login test fails about once in ten runs. Find out why.',
  });
  await workflows.step(id, {
    role: 'planner',
    content: '1. Run the test 100 times.\n2. Compare the logs.\n3. Repair the cause.',
    meta: { steps: 3 },
  });
  await workflows.step(id, {
    role: 'coder',
    content: 'The test reads the clock twice. It now reads it once.',
    meta: { files: ['login.test.ts'] },
  });
  await workflows.step(id, {
    role: 'reviewer',
    content: 'Approved, with two nits.',
    meta: { approved: true },
  });
  await workflows.end(id, { returnCode: 0, summary: 'The test passed 100 times.' });
}

/** An inbox between agents. A store without a place for queues has none. */
async function fillInbox(store: Store): Promise<void> {
  const queue = await store.queues.open('inbox').catch(() => undefined);
  await queue?.pushBatch([
    { source: 'internal:dm:default:planner', type: 'message', content: 'hello, warden' },
    { source: 'internal:dm:default:coder', type: 'message', content: 'the login test is repaired' },
    { source: 'self', type: 'record', subtype: 'note', content: '{"build":4122,"green":true}' },
    { source: 'internal:dm:default:reviewer', type: 'message', content: 'two nits, else fine' },
    { source: 'self', type: 'record', subtype: 'note', content: '{"build":4123,"green":true}' },
  ]);
  // The consumer has seen all messages, so its handler is not run.
  await queue?.subscribe({ consumer: 'warden', handler: 'true', filter: "type = 'message'" });
  await queue?.pop('warden', { lastEventId: 4 });
}

/** A session as coding agents keep them in files. A store without a place for files has none. */
async function keepSession(store: Store): Promise<void> {
  const header = { title: 'Migrate billing to the new API' };
  const session = await store.sessions
    .create({ cwd: '/project/billing', header })
    .catch(() => undefined);
  if (session === undefined) return;
  const call = { type: 'toolCall', id: 'call_1', name: 'Bash', arguments: { command: 'npm test' } };
  const result = { role: 'toolResult', toolCallId: 'call_1', toolName: 'Bash', isError: false };
  for (const message of [
    { role: 'user', content: 'Move billing to version 2 of the API.' },
    { role: 'assistant', content: [{ type: 'text', text: 'I run the tests first.' }, call] },
    { ...result, content: [{ type: 'text', text: '412 tests, 412 passed' }] },
    { role: 'assistant', content: 'All 412 tests pass. Shall I remove the **old client**?' },
  ]) {
    await session.append({ type: 'message', message });
  }
  await session.close();
}

async function createContext(
  store: Store,
  title: string,
  labels: readonly string[],
): Promise<ContextId> {
  const kind = labels.includes('chat') ? 'chat' : 'agent';
  return (await store.contexts.create({ title, kind, labels, meta: { demo: true } })).id;
}

async function say(store: Store, id: ContextId, role: string, text: string): Promise<TurnId> {
  const turn = { type: 'chat.message', payload: { role, text } };
  return (await store.contexts.append(id, turn)).id;
}

interface ToolCall {
  readonly name: string;
  readonly input: object;
}

const RUN_TESTS: ToolCall = { name: 'Bash', input: { command: 'npm test -- parser' } };
const READ: ToolCall = { name: 'Read', input: { file_path: 'src/lexer/tokens.ts' } };

function edit(before: string, after: string): ToolCall {
  const input = { file_path: 'src/lexer/tokens.ts', old_string: before, new_string: after };
  return { name: 'Edit', input };
}

/** The fields of an answer with its figures. */
function answered(input: number, output: number): object {
  const usage = { input_tokens: input, output_tokens: output, cache_read_input_tokens: 4 * input };
  return { role: 'assistant', model: 'sample-1', usage };
}

async function runTool(
  store: Store,
  id: ContextId,
  call: ToolCall,
  output: string,
): Promise<TurnId> {
  await store.contexts.append(id, { type: 'tool.call', payload: call });
  const result = { type: 'tool.result', payload: output, encoding: 'text' } as const;
  return (await store.contexts.append(id, result)).id;
}

/**
 * Streams an answer word by word, so that there is something to follow, and seals it at its end. When the signal
 * aborts, the turn ends with the text it has. Never leaves a turn open.
 */
export async function writeSlowly(
  store: Store,
  live: ContextId,
  { signal, pauseMs = PAUSE_MS }: { readonly signal: AbortSignal; readonly pauseMs?: number },
): Promise<void> {
  const turn = await store.contexts.open(live, { type: 'chat.message' });
  for (const word of ESSAY.split(/(?<=\s)/)) {
    if (signal.aborted) break;
    await turn.write(word);
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
  await (signal.aborted ? turn.abort('the server was stopped') : turn.seal());
}

/** A test run as a tool prints it. Agents run the same tests again and again, and the store keeps the output once. */
function testLog(failing: string | undefined): string {
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
