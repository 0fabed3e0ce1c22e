import { hostname } from 'node:os';

/** What the holder of a lock leaves for those who find it taken. */
export function describeOwner(): string {
  return JSON.stringify({ pid: process.pid, host: hostname(), since: new Date().toISOString() });
}
