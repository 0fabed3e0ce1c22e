import type { Engine } from './engine.ts';
import type { DocRow } from './rows.ts';

/** One call asks for this many names: few calls, and little memory however many names there are. */
const NAMES = 1000;

type ListNames = (limit: number, after?: string) => Promise<readonly string[]>;

/** Yields every name of a listing, in its order. Names may come and go meanwhile. */
export async function* eachName(list: ListNames): AsyncGenerator<string, void, undefined> {
  for await (const names of namePages(list, NAMES)) yield* names;
}

/** Like `eachName`, with up to `limit` names at a time. */
export async function* namePages(
  list: ListNames,
  limit: number,
): AsyncGenerator<readonly string[], void, undefined> {
  for (let after: string | undefined; ;) {
    const names = await list(limit, after);
    if (names.length > 0) yield names;
    if (names.length < limit) return;
    after = names.at(-1);
  }
}

/** Yields every document whose name begins with `prefix`. One that is removed meanwhile may be left out. */
export async function* eachDoc(
  engine: Pick<Engine, 'getDoc' | 'listDocs'>,
  prefix: string,
): AsyncGenerator<DocRow, void, undefined> {
  for await (const name of eachName((limit, after) => engine.listDocs(prefix, limit, after))) {
    const row = await engine.getDoc(name);
    if (row !== undefined) yield row;
  }
}
