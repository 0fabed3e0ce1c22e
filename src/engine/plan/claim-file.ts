import { invalid } from '../../base/errors.ts';
import { assertFileName } from '../names.ts';
import type { Draft, FileKind } from './draft.ts';

/**
 * Makes sure that a log or published document can be a plain file: its folder is one for such files, nothing else
 * has the name, and nothing above it is a file. At the disk it would be too late to refuse.
 */
export function claimFile(draft: Draft, name: string, as: 'log' | 'doc'): void {
  assertFileName(name);
  const there = kindOf(draft, name);
  if (there !== undefined && there !== as) {
    throw invalid('name', `${name} is taken by a ${there}; choose another one`);
  }
  const segments = name.split('/');
  for (let count = 1; count < segments.length; count += 1) {
    const above = segments.slice(0, count).join('/');
    const kind = kindOf(draft, above);
    if (kind === 'log' || kind === 'doc') {
      throw invalid('name', `${name} lies below ${above}, which is a ${kind}; choose another one`);
    }
    draft.fileKinds.set(above, 'folder');
  }
  draft.fileKinds.set(name, as);
}

function kindOf(draft: Draft, name: string): FileKind | undefined {
  return draft.fileKinds.get(name) ?? draft.fileKind(name);
}
