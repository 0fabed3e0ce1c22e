import { resolve } from 'node:path';
import { QuipuError, invalid } from '../../base/errors.ts';
import { settleMove } from '../carry/move-session.ts';
import { noSession, readHeader, withFile } from '../log/open-session-file.ts';
import { parseSessionName } from '../log/session-names.ts';
import type { SessionsWorld } from '../sessions-world.ts';
import { assertOwn, standingOf } from './own-file.ts';
import type { SessionRecord } from './registry.ts';
import { scanReferences } from './scan-references.ts';
import { SessionRefs } from './session-refs.ts';

/**
 * Finds a session, given its id or the path of its file. A move that was cut short is settled first. A file that the
 * store did not know is known from now on, with its references.
 */
export async function findSession(world: SessionsWorld, session: string): Promise<SessionRecord> {
  if (typeof session !== 'string' || session === '') {
    throw invalid('session', 'is the id of a session or the path of its file');
  }
  if (world.confined === true && isPath(session))
    throw invalid('session', 'is the id of a session');
  return isPath(session) ? findByPath(world, resolve(session)) : findById(world, session);
}

function isPath(session: string): boolean {
  return /[/\\]/.test(session) || session.endsWith('.jsonl');
}

async function findById(world: SessionsWorld, id: string): Promise<SessionRecord> {
  const record = await world.registry.get(id);
  if (record === undefined) {
    throw new QuipuError('NOT_FOUND', `there is no session ${id}`, { what: 'session', id });
  }
  return settleMove(world, await assertOwn(world, record));
}

async function findByPath(world: SessionsWorld, file: string): Promise<SessionRecord> {
  const { io, registry } = world;
  if ((await io.stat(file)) === undefined) {
    const known = await registry.get(parseSessionName(file)?.id ?? '');
    if (known === undefined) throw noSession(file);
    return settleMove(world, await assertOwn(world, known));
  }
  const { header } = await withFile(io, file, 'read', (opened) => readHeader(opened, file));
  const known = await registry.get(header.id);
  if (known === undefined) return register(world, header.id, file);
  // A record that names a file of another session says nothing about this file.
  if ((await standingOf(world, known)) === 'foreign') return register(world, header.id, file);
  const settled = await settleMove(world, known);
  if (settled.file === file || known.movingTo === file || known.file === file) return settled;
  // The known file is gone: somebody moved the session here.
  if ((await io.stat(settled.file)) === undefined) return register(world, header.id, file);
  // This is a copy made by hand. The copy is opened as it is, and its blobs stay when the original goes.
  await registry.noteCopy({ id: header.id, file });
  return { id: header.id, file };
}

async function register(world: SessionsWorld, id: string, file: string): Promise<SessionRecord> {
  const refs = await withFile(world.io, file, 'read', (opened) => scanReferences(opened));
  await new SessionRefs(world.engine, id).adopt(refs);
  await world.registry.put({ id, file });
  return { id, file };
}
