import { resolve } from 'node:path';
import type { World } from './world.ts';

/** An id as it is; a path from where the user stands. */
export function toSessionArgument(world: World, text: string): string {
  return /[/\\]/.test(text) || text.endsWith('.jsonl') ? resolve(world.cwd, text) : text;
}
