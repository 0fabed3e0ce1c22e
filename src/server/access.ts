import { QuipuError } from '../base/errors.ts';

// Who may do what. A scope includes the ones before it.

export type Scope = 'read' | 'write' | 'admin';

/** A scope, or the right to have others run programs: handlers of queues, and bundles of workflows. */
export type Needed = Scope | 'handlers';

export interface Identity {
  /** For logs. Never the token itself. */
  readonly name: string;
  readonly scope: Scope;
  /** True for who is admin where the server was told `--allow-handlers`, and never without a token. */
  readonly handlers?: boolean;
  /**
   * True for a process of the user whose store it is, on the socket that only this user can reach. It could write to the files
   * themselves, so it may name any document.
   */
  readonly owner?: boolean;
  /** Aborts when the token is revoked or has expired: what it opened should end then. */
  readonly ended?: AbortSignal;
}

export interface Access {
  /** False when everyone who can connect may do everything, as on a loopback address. */
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

/** Lets everyone in who can connect. */
export const openAccess: Access = {
  tokensNeeded: false,
  identify: () => Promise.resolve({ name: 'anyone', scope: 'admin' }),
};

/** For the socket that only the user whose store it is can reach. */
export const ownerAccess: Access = {
  tokensNeeded: false,
  identify: () => Promise.resolve({ name: 'the owner', scope: 'admin', owner: true }),
};
