import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ENTER = ['-Urm', 'sh', '-c'];

/** Why a test cannot have a small disk of its own; undefined when it can. */
export function whyNoPrivateDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'quipu-disk-'));
  const mounted = spawnSync('unshare', [...ENTER, `mount -t tmpfs tmpfs ${folder}`]);
  rmSync(folder, { recursive: true });
  return mounted.status === 0 ? undefined : 'this machine lets nobody mount a file system';
}

/**
 * A command line in which `disk` is a file system of `bytes` that only it sees. What it starts must end with it. A
 * remount for reading alone binds the superuser, too, as no mode of a folder does.
 */
export function onPrivateDisk(script: string, bytes: number): string {
  const lines = `mkdir -p disk && mount -t tmpfs -o size=${bytes} tmpfs disk && cd disk\n${script}`;
  return `unshare ${ENTER.slice(0, -2).join(' ')} sh -c ${quote(lines)}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
