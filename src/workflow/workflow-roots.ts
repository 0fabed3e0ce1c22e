import type { Hash } from '../base/brand.ts';
import type { Engine } from '../engine/engine.ts';
import type { Root, RootSource } from '../engine/roots.ts';
import { parseRegistry } from './bundles/bundles.ts';
import {
  eachBundle,
  eachHistory,
  NOTES_PREFIX,
  REGISTRY_DOC,
  bundleOfIndex,
  indexDoc,
} from './home/documents.ts';
import { parseHistoryLine, parseIndex, parseNote } from './threads/thread-docs.ts';

const LINES_AT_ONCE = 1000;

/**
 * Yields head and start of every thread, under way or finished, and the bundles that run them. Indexes are read before
 * histories: a thread that ends in between is seen in one of them, or in both.
 */
export function workflowRoots(engine: Engine): RootSource {
  return {
    kind: 'workflows',
    async *roots() {
      const registry = await engine.getDoc(REGISTRY_DOC);
      if (registry !== undefined) yield* rootsInDoc(registry);
      const bundles: Hash[] = [];
      for await (const bundle of eachBundle(engine)) {
        const doc = await engine.getDoc(indexDoc(bundle));
        if (doc !== undefined) yield* rootsInDoc(doc);
        bundles.push(bundle);
      }
      for (const bundle of bundles) {
        for await (const name of eachHistory(engine, bundle)) yield* rootsInHistory(engine, name);
      }
    },
    // The note of a thread that ends names its last state, which its index no longer does.
    rootsIn: (change) => change.docs.flatMap((doc) => [...rootsInDoc(doc)]),
  };
}

function* rootsInDoc({ name, content }: { name: string; content: string }): Generator<Root> {
  if (!name.startsWith('workflows/')) return;
  if (name === REGISTRY_DOC) {
    for (const { name: of, versions } of parseRegistry(content).values()) {
      for (const { hash } of versions) yield { blob: hash, of };
    }
    return;
  }
  const bundle = bundleOfIndex(name);
  if (bundle !== undefined) {
    const index = parseIndex(name, content);
    if (index.size > 0) yield { blob: bundle };
    for (const [id, entry] of index) yield* nodes(id, entry);
  } else if (name.startsWith(NOTES_PREFIX)) {
    const { head, start } = parseNote(name, content);
    const id = name.slice(NOTES_PREFIX.length).replace(/\.json$/, '');
    if (head !== undefined && start !== undefined) yield* nodes(id, { head, start });
  }
}

async function* rootsInHistory(engine: Engine, name: string): AsyncGenerator<Root> {
  for (let from = 0; ; from += LINES_AT_ONCE) {
    const lines = await engine.readLog(name, from, LINES_AT_ONCE);
    for (const line of lines) {
      const { threadId, ...ends } = parseHistoryLine(name, line);
      yield* nodes(threadId, ends);
    }
    if (lines.length < LINES_AT_ONCE) return;
  }
}

function* nodes(of: string, { head, start }: Record<'head' | 'start', Hash>): Generator<Root> {
  yield { node: head, of };
  if (start !== head) yield { node: start, of };
}
