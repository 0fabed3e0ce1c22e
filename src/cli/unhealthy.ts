/** The command did its work, and found a problem. */
export class Unhealthy extends Error {
  override readonly name: string = 'Unhealthy';
}
