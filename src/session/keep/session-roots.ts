import type { Hash } from '../../base/brand.ts';
import { QuipuError } from '../../base/errors.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Root, RootSource } from '../../engine/roots.ts';
import type { DocRow } from '../../engine/rows.ts';
import { REFS_PREFIX } from './doc-names.ts';
import { parseRefsPage } from './refs-page.ts';

const PAGE_DOCS = 1000;

/**
 * Every blob that a session refers to, as the store itself was told. No session file is read for it, so it does not
 * matter where those are, or on which machine.
 */
export function sessionRoots(engine: Engine): RootSource {
  return {
    kind: 'sessions',
    async *roots() {
      let after: string | undefined;
      for (;;) {
        const names = await engine.listDocs(REFS_PREFIX, PAGE_DOCS, after);
        for (const name of names) {
          // One that goes meanwhile was of a session that was removed.
          const row = await engine.getDoc(name);
          if (row !== undefined) yield* rootsOf(row);
        }
        after = names.at(-1);
        if (names.length < PAGE_DOCS) return;
      }
    },
    rootsIn: ({ docs }) =>
      docs.filter(({ name }) => name.startsWith(REFS_PREFIX)).flatMap((row) => [...rootsOf(row)]),
  };
}

function* rootsOf(row: DocRow): Generator<Root> {
  const [of = ''] = row.name.slice(REFS_PREFIX.length).split('/');
  for (const hash of Object.values(parseRefsPage(row))) {
    if (!/^[0-9a-f]{64}$/.test(hash)) {
      const message = `the document ${row.name} names something that is no blob`;
      throw new QuipuError('CORRUPT', message, { file: row.name, offset: 0 });
    }
    yield { blob: hash as Hash, of };
  }
}
