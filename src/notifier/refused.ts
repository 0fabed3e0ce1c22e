/** The command line was right, but its request cannot be carried out now. */
export class Refused extends Error {
  override readonly name: string = 'Refused';
  /** The next step for the user. */
  readonly suggestion: string;

  constructor(message: string, suggestion: string) {
    super(message);
    this.suggestion = suggestion;
  }
}
