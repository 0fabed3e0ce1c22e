import { basename, dirname, join } from 'node:path';
import { given } from '../../base/given.ts';
import { textAt } from '../source/fields.ts';
import type { SessionDetails, SourceFile } from '../source/source.ts';
import { readSmallJson, type FoundFile } from '../source/walk-folder.ts';
import { filesAt, type AboutFile } from './shared.ts';

// Where Claude Code keeps sessions: `projects/<folder>/<session>.jsonl`, subagents in `<session>/subagents` or, in older
// versions, beside the session, and long outputs in `<session>/tool-results`.

/** Sessions before their subagents; older sessions before their copies. */
export function discoverClaude(place: string): AsyncGenerator<SourceFile> {
  const below = /^(?:\.?projects\/)?[^/]+\/(?:.+\/)?[^/]+\.jsonl$/;
  const isAgent = ({ name }: FoundFile): number => Number(agentOf(name) !== undefined);
  return filesAt(place, {
    wants: (name) => below.test(name) && !isNoTranscript(name),
    order: (a, b) =>
      isAgent(a) - isAgent(b) || a.modifiedMs - b.modifiedMs || (a.path < b.path ? -1 : 1),
    about: aboutFile,
  });
}

/** The conversation sent again for a summary, and what workflows note. */
function isNoTranscript(name: string): boolean {
  const file = basename(name);
  return file.startsWith('agent-acompact-') || file === 'journal.jsonl' || file === 'history.jsonl';
}

/** The id of the subagent that a file is of. */
export function agentOf(name: string): string | undefined {
  return /^agent-(.+)\.jsonl$/.exec(basename(name))?.[1];
}

async function aboutFile({ path }: FoundFile): Promise<AboutFile> {
  const agent = agentOf(path);
  const own = basename(path, '.jsonl');
  const [, companion] = /^(.*)\/subagents\/(?:.*\/)?[^/]+$/.exec(path) ?? [];
  // Where a subagent's file stands beside its session's, only its records say which session that is.
  const parent = companion === undefined ? undefined : basename(companion);
  const folder = companion ?? join(dirname(path), own);
  return {
    session: parent === undefined ? own : `${parent}/${own}`,
    form: 'lines',
    folders: [join(folder, 'tool-results')],
    ...(agent !== undefined && { details: await aboutAgent(path, agent, parent) }),
  };
}

/** Reads what the file beside a subagent's says about it. */
async function aboutAgent(
  path: string,
  agent: string,
  session: string | undefined,
): Promise<SessionDetails> {
  const about = await readSmallJson(path.replace(/\.jsonl$/, '.meta.json'));
  const call = textAt(about, 'toolUseId');
  const title = textAt(about, 'description');
  return {
    ...(session !== undefined && { parent: { session, agent, ...(call && { call }) } }),
    ...(title !== undefined && { title: { text: title, from: 'generated' } }),
    more: given({ agent, agentType: textAt(about, 'agentType') }),
  };
}
