import type { Desks } from './desk.ts';
import { ReadDesk } from './read-desk.ts';
import { WriteDesk } from './write-desk.ts';

export function openDesk(role: keyof Desks, path: string): Desks[keyof Desks] {
  return role === 'write' ? new WriteDesk(path) : new ReadDesk(path);
}
