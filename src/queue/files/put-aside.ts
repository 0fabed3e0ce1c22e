import { existsSync, renameSync } from 'node:fs';
import { extname } from 'node:path';

/**
 * Gives a file the name `<name>-<YYYYMMDD-HHmmss>.<ext>`, with a number behind it when that is taken. The caller keeps
 * others out, so that no name is taken between the look and the move. Returns false when there is no file.
 */
export function putAside(path: string, nowMs: number): boolean {
  if (!existsSync(path)) return false;
  const end = extname(path);
  const base = `${path.slice(0, path.length - end.length)}-${toStamp(nowMs)}`;
  let target = `${base}${end}`;
  for (let number = 2; existsSync(target); number += 1) target = `${base}-${number}${end}`;
  renameSync(path, target);
  return true;
}

/** In UTC. */
function toStamp(nowMs: number): string {
  const [day = '', time = ''] = new Date(nowMs).toISOString().split('T');
  return `${day.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`;
}
