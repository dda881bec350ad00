/** Something that a test opens, and that others wait for. */
export class Gate {
  #open = () => {};
  readonly opened: Promise<void> = new Promise((resolve) => {
    this.#open = resolve;
  });

  open(): void {
    this.#open();
  }
}
