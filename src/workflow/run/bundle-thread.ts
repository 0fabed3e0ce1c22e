/**
 * The program of the thread in which a bundle runs. The program loads the given module and carries out requests, with
 * one answer for each. The program is text because it has to start from sources as well as from a build. Values travel
 * as JSON, so a bundle's result is only data on the other side.
 */
export const BUNDLE_THREAD = `
import { parentPort, workerData } from 'node:worker_threads';

const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
const failure = (error) => {
  const text = error instanceof Error ? error.name + ': ' + error.message : String(error);
  return text.slice(0, 2000);
};
const matches = (when, last) =>
  Object.entries(when).every(([name, value]) => JSON.stringify(last?.meta?.[name]) === JSON.stringify(value));

// The same way as answers, so that what was printed before one is there before it.
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (piece, ...rest) => {
    parentPort.postMessage({ output: String(piece) });
    rest.find((item) => typeof item === 'function')?.();
    return true;
  };
}

async function load() {
  const module = await import('data:text/javascript;base64,' + workerData);
  const { descriptor, roles = {}, run, table, extract } = module;
  const functions = Object.keys(roles).filter((name) => typeof roles[name] === 'function');
  const isTable = typeof table === 'object' && table !== null;
  return { module, seen: { descriptor, functions, hasRun: typeof run === 'function', table: isTable ? table : null,
    hasExtract: typeof extract === 'function' } };
}

let moves;
const answers = {
  async next({ roles, table }, last, context) {
    const rules = table[last?.role ?? '__start__'];
    if (typeof rules === 'string') return rules;
    for (const { when, to } of rules ?? []) {
      if (when === undefined || (typeof when === 'function' ? await when(last, context) : matches(when, last))) return to;
    }
    return null;
  },
  async begin({ run }, context) {
    moves = run(context);
  },
  async advance(_, value) {
    return await moves.next(value);
  },
  async role({ roles }, name, context) {
    return await roles[name](context);
  },
  async extract({ extract }, raw, role) {
    return await extract(raw, role);
  },
};

try {
  const { module, seen } = await load();
  parentPort.on('message', async ({ id, what, args }) => {
    try {
      parentPort.postMessage({ id, value: plain(await answers[what](module, ...args)) });
    } catch (error) {
      parentPort.postMessage({ id, error: failure(error) });
    }
  });
  parentPort.postMessage({ id: 0, value: plain(seen) });
} catch (error) {
  parentPort.postMessage({ id: 0, error: failure(error) });
}
`;
