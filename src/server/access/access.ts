import { QuipuError } from '../../base/errors.ts';

// Access control: the scopes, and the identities that hold them. A scope includes the ones before it.

export type Scope = 'read' | 'write' | 'admin';

/** A scope, or the right to have others run programs: handlers of queues, and bundles of workflows. */
export type Needed = Scope | 'handlers';

export interface Identity {
  /** The name that logs show. Never the token itself. */
  readonly name: string;
  readonly scope: Scope;
  /** True for an admin if the server was started with `--allow-handlers`. Never true without a token. */
  readonly handlers?: boolean;
  /**
   * True for a process of the user who owns the store, on the socket that only this user can reach. Such a process
   * could write to the files directly, so it may name any document.
   */
  readonly owner?: boolean;
  /** Aborts when the token is revoked or expires. Everything that the token opened should end then. */
  readonly ended?: AbortSignal;
}

export interface Access {
  /** False when every client that can connect may do everything, as on a loopback address. */
  readonly tokensNeeded: boolean;
  /** Undefined for a token that is unknown, revoked or missing. */
  identify(token: string | undefined): Promise<Identity | undefined>;
}

const RANK: Readonly<Record<Scope, number>> = { read: 0, write: 1, admin: 2 };

export function allows(identity: Identity, needed: Needed): boolean {
  if (needed === 'handlers') return identity.handlers === true || identity.owner === true;
  return RANK[identity.scope] >= RANK[needed];
}

export function assertAllowed(identity: Identity, needed: Needed): void {
  if (allows(identity, needed)) return;
  const { name, scope } = identity;
  const message =
    needed === 'handlers'
      ? `this brings a program that others run, so it takes a token with the scope "admin" on a server that was started with --allow-handlers; ${name} has no such right`
      : `this takes the scope "${needed}", and ${name} has "${scope}"`;
  throw new QuipuError('FORBIDDEN', message, { scope: needed });
}

/** Admits every client that can connect. */
export const openAccess: Access = {
  tokensNeeded: false,
  identify: () => Promise.resolve({ name: 'anyone', scope: 'admin' }),
};

/** For the socket that only the owner of the store can reach. */
export const ownerAccess: Access = {
  tokensNeeded: false,
  identify: () => Promise.resolve({ name: 'the owner', scope: 'admin', owner: true }),
};
