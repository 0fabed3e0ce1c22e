import { readFileSync } from 'node:fs';
import { programFile } from '../../base/program-file.ts';

/** The version of the package this file belongs to, built or not. */
export function readVersion(): string {
  const text = readFileSync(programFile('../package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
