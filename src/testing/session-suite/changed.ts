import * as fs from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Session } from '../../session/sessions.ts';
import type { Store } from '../../store/store.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';
import { message, openSessions } from './fixture.ts';

const WARNING = 'Session lines changed after they were written';

type Damage = (file: string) => void;

/** Flips one bit of a letter, so that the line can still be read. */
function flipAt(file: string, at: number): void {
  const bytes = fs.readFileSync(file);
  bytes[at] = bytes[at]! ^ 1;
  fs.writeFileSync(file, bytes);
}

const DAMAGES: Readonly<Record<string, Damage>> = {
  flipped: (file) => flipAt(file, fs.readFileSync(file).lastIndexOf('secret')),
  cut: (file) => fs.truncateSync(file, fs.statSync(file).size - 5),
  halved: (file) => fs.truncateSync(file, Math.floor(fs.statSync(file).size / 2)),
  emptied: (file) => fs.truncateSync(file, 0),
  zeroed: (file) => fs.writeFileSync(file, Buffer.alloc(fs.statSync(file).size)),
  deleted: (file) => fs.rmSync(file),
};

async function writeSome(session: Session): Promise<string> {
  for (let n = 0; n < 3; n++) await session.append({ ...message(`secret ${n}`), id: `e${n}` });
  return session.file!;
}

async function problemsOf(store: Store): Promise<readonly string[]> {
  const { ok, problems } = await store.maintain.verify();
  expect(ok).toBe(problems.length === 0);
  return problems.map(({ file }) => file);
}

export function changedSuite(target: StoreTarget): void {
  describe('a file that changes under its session', () => {
    it.each(Object.keys(DAMAGES))('is noticed by verify: %s', async (name) => {
      const { store, begin } = await openSessions(target);
      const session = await begin();
      const file = await writeSome(session);
      const { path } = await session.saveArtifact('the secret of a tool', 'bash');
      const { path: output } = await session.artifacts.saveAgentOutput('0-Plan', 'a secret plan');
      expect(await problemsOf(store)).toEqual([]);
      for (const damaged of [path, output, file]) DAMAGES[name]!(damaged);
      expect(new Set(await problemsOf(store))).toEqual(new Set([file, path, output]));
    });

    it('is said to be other than what was written, wherever it is read', async () => {
      const { begin } = await openSessions(target);
      const session = await begin();
      const file = await writeSome(session);
      const { id } = await session.saveArtifact('the secret of a tool', 'bash');
      expect((await session.load()).warnings).toEqual([]);
      const whole = fs.readFileSync(file);
      flipAt(file, whole.indexOf('secret 1'));
      const about = expect.stringContaining(file) as string;
      const expected = [{ message: WARNING, about }];
      expect((await session.load()).warnings).toEqual(expected);
      expect((await session.branch()).warnings).toEqual(expected);
      expect((await session.last(3)).warnings).toEqual(expected);
      const seen: number[] = [];
      for await (const { warnings } of session.entries()) seen.push(warnings.length);
      expect(Math.max(...seen)).toBe(1);
      const [artifact] = fs
        .readdirSync(session.artifacts.folder)
        .filter((one) => !one.startsWith('.'));
      flipAt(join(session.artifacts.folder, artifact!), 5);
      const { notes } = await session.resolve(`artifact://${id}`);
      expect(notes).toEqual([expect.stringContaining('changed after it was written')]);
    });

    it('may grow by the hands of others, and its torn end may go', async () => {
      const { store, begin } = await openSessions(target);
      const session = await begin();
      const file = await writeSome(session);
      fs.appendFileSync(file, '{"type":"x","id":"other"}\n');
      expect(await problemsOf(store)).toEqual([]);
      fs.appendFileSync(file, '{"type":"x","id":"torn');
      await store.maintain.gc();
      await session.append({ ...message('after'), id: 'e9' });
      expect(await problemsOf(store)).toEqual([]);
      expect((await session.load()).warnings).toEqual([]);
      // The session saw the lines of others when it wrote after them.
      flipAt(file, fs.readFileSync(file).indexOf('other'));
      expect(await problemsOf(store)).toEqual([file]);
    });

    it('is noticed also after a fork, a move and a journey', async () => {
      const { store, folder, begin } = await openSessions(target);
      const session = await begin();
      const file = await writeSome(session);
      await session.saveArtifact('the secret of a tool', 'bash');
      await session.fork();
      await session.fork({ at: 'e1' });
      await session.moveTo(join(folder, 'moved'));
      expect(await problemsOf(store)).toEqual([]);
      expect(session.file).not.toBe(file);
      flipAt(session.file!, fs.readFileSync(session.file!).indexOf('secret 2'));
      const forked = await session.fork();
      await session.moveTo(join(folder, 'again'));
      expect(new Set(await problemsOf(store))).toEqual(new Set([session.file, forked.newFile]));
      await store.sessions.export(session.id, join(folder, 'exported'));
      await store.sessions.remove(session.id);
      await store.sessions.remove(forked.id);
      expect(await problemsOf(store)).toEqual([]);
      const back = await store.sessions.import(join(folder, 'exported'), {
        folder: join(folder, 'back'),
      });
      expect(await problemsOf(store)).toEqual([back.file]);
      // An intended change is accepted as it is once its checksums are removed.
      fs.rmSync(join(folder, 'back/.sums'), { recursive: true });
      expect(await problemsOf(store)).toEqual([]);
    });

    it('keeps its checksums when a lost header is made again', async () => {
      const { store, begin } = await openSessions(target);
      const session = await begin();
      const file = await writeSome(session);
      await session.close();
      const text = fs.readFileSync(file, 'utf8');
      fs.writeFileSync(file, text.replace('"type":"session"', '"type":"sessiom"'));
      await store.sessions.recoverHeader(file);
      expect(await problemsOf(store)).toEqual([]);
      flipAt(file, fs.readFileSync(file).indexOf('secret 2'));
      expect(await problemsOf(store)).toEqual([file]);
    });
  });
}
