/**
 * A fault of a role or a bundle. This error ends the thread with return code 1; other errors leave the thread as it is.
 */
export class RunFailure extends Error {
  override readonly name: string = 'RunFailure';
}
