import { resolve } from 'node:path';
import type { World } from './world.ts';

/** Keeps an id as it is. Resolves a path from the user's working directory. */
export function toSessionArgument(world: World, text: string): string {
  return /[/\\]/.test(text) || text.endsWith('.jsonl') ? resolve(world.cwd, text) : text;
}
