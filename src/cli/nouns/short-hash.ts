import { invalid, notFound } from '../../base/errors.ts';
import type { Store } from '../../store/store.ts';

// Listings show the beginning of a hash. What they show can be typed again where a hash is wanted. Each look-up is
// bounded, and a beginning that fits more than one hash is refused with those that it fits.

const WHOLE = /^[0-9a-f]{64}$/;
/** Fewer digits would be a word as often as a hash. */
const SHORT = /^[0-9a-f]{6,63}$/;
const SHOWN_MAX = 5;
const STEPS_MAX = 10_000;
const PAGE_STEPS = 1000;

/** The step of a thread that a hash or its beginning names. What is neither is given back for the store to judge. */
export async function findStep(store: Store, thread: string, given: string): Promise<string> {
  if (!SHORT.test(given)) return given;
  const found = await matching(given, stepsOf(store, thread));
  return theOne(given, found) ?? given;
}

/** The blob that a reference names, with the rest of a hash that was given short. NOT_FOUND when nothing begins so. */
export async function findBlob({ blobs }: Store, given: string): Promise<string> {
  const digits = given.replace(/^b3:/, '');
  if (/^[0-9a-f]{1,5}$/.test(digits)) throw invalid('blob', 'needs at least 6 digits of its hash');
  if (WHOLE.test(digits) || !SHORT.test(digits)) return given;
  const { items } = await blobs.list({ prefix: digits, limit: SHOWN_MAX + 1 });
  const found = theOne(digits, new Set(items));
  if (found !== undefined) return found;
  throw notFound('blob', given, `there is no blob ${given}…`);
}

/** The bundle that a workflow stood for, by its hash or the beginning of it. */
export async function findBundle(store: Store, name: string, given: string): Promise<string> {
  if (WHOLE.test(given) || !SHORT.test(given)) return given;
  const bundle = await store.workflows.bundles.get(name);
  const hashes = bundle?.versions.map(({ hash }) => hash) ?? [];
  const found = theOne(given, await matching(given, hashes));
  if (found !== undefined) return found;
  throw notFound(
    'bundle',
    given,
    `workflow ${name} never had a bundle ${given}…; "quipu workflow history" lists its bundles`,
  );
}

/** The newest steps of a thread, as many as a look-up may cost. */
async function* stepsOf({ workflows }: Store, thread: string): AsyncGenerator<string> {
  let before: string | undefined;
  for (let read = 0; read < STEPS_MAX; read += PAGE_STEPS) {
    const from = before === undefined ? {} : { before };
    const page = await workflows.steps(thread, { limit: PAGE_STEPS, content: false, ...from });
    for (const { hash } of page.steps) yield hash;
    if (page.cursor === undefined) return;
    before = page.cursor;
  }
}

async function matching(
  given: string,
  hashes: AsyncIterable<string> | readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for await (const hash of hashes) {
    if (hash.startsWith(given)) found.add(hash);
    if (found.size > SHOWN_MAX) break;
  }
  return found;
}

function theOne(given: string, found: ReadonlySet<string>): string | undefined {
  const [hash, ...others] = found;
  if (others.length === 0) return hash;
  const listed = [...found].slice(0, SHOWN_MAX).map((one) => `\n  ${one}`);
  const more = found.size > SHOWN_MAX ? '\n  …' : '';
  throw invalid('hash', `${given} matches several; give more digits:${listed.join('')}${more}`);
}
