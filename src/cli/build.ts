import type { Command } from 'commander';
import type { World } from './world.ts';

/** Makes one command. */
export type Build = (world: World) => Command;
