import type { Socket } from 'node:net';
import type { SessionFacts } from './hooks.ts';

/** What is known of a connection before it has said anything. */
export function factsOf({ remoteAddress, remotePort }: Socket, id: bigint): SessionFacts {
  const remote = remoteAddress === undefined ? '' : `${remoteAddress}:${remotePort ?? 0}`;
  return { id, remote, identity: undefined, tag: '' };
}
