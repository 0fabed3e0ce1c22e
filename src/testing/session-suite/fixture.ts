import { join } from 'node:path';
import type { Session, NewSession } from '../../session/sessions.ts';
import { openRig } from '../store-suite/fixture.ts';
import type { StoreRig } from '../store-suite/fixture.ts';
import type { StoreOpening, StoreTarget } from '../store-suite/store-target.ts';
import { freshFolder } from '../fresh-folder.ts';

export interface SessionRig extends StoreRig {
  /** A folder for files of sessions and of the test: a store may be far away, files are here. */
  readonly folder: string;
  readonly begin: (options?: NewSession) => Promise<Session>;
}

export async function openSessions(
  target: StoreTarget,
  opening: StoreOpening = {},
): Promise<SessionRig> {
  const folder = freshFolder('quipu-session-');
  const rig = await openRig(target, opening);
  const place = { folder: join(folder, 'sessions') };
  return {
    ...rig,
    folder,
    begin: (options) => rig.store.sessions.create({ ...place, ...options }),
  };
}

export function message(text: string): { type: string; message: unknown } {
  return { type: 'message', message: { role: 'user', content: [{ type: 'text', text }] } };
}

export function picture(bytes: Uint8Array): { type: string; message: unknown } {
  const data = Buffer.from(bytes).toString('base64');
  const content = [{ type: 'image', mimeType: 'image/png', data }];
  return { type: 'message', message: { role: 'user', content } };
}
