// What the SDKs rely on in the order of a stream's events. One of these watches one stream from its beginning.

const END = new Set(['completed', 'failed', 'cancelled'].map((end) => `agent.session.turn.${end}`));
const TURN = 'agent.session.turn.';

export class Order {
  #ids = new Set();
  #open = new Map(); // Items that were added and are not done: id → what was written of it
  #done = new Set();
  #turn = null; // the root Turn that is running
  #begun = false;
  #answered = false; // a client was needed, and had given its answer when that was told

  /** `creation`: whether it is the stream of a Session's creation. `whole`: whether it begins with the Session or between Turns. */
  constructor({ creation, whole }) {
    this.creation = creation;
    this.whole = whole;
  }

  /** What is wrong with this event here; `null` if nothing is. */
  next(event) {
    if (this.#ids.has(event.event_id)) return `event_id ${event.event_id} came twice`;
    this.#ids.add(event.event_id);
    const first = !this.#begun;
    this.#begun = true;
    if (this.creation && first && event.type !== 'agent.session.created') {
      return `a creation's stream begins with ${event.type}`;
    }
    const wrong = this.#state(event) ?? this.#item(event);
    return wrong && `${wrong} (${JSON.stringify(event).slice(0, 300)})`;
  }

  #state(event) {
    if (event.type === `${TURN}created`) {
      if (this.#turn) return `Turn ${event.turn_id} begins while ${this.#turn} runs`;
      this.#turn = event.turn_id;
    } else if (END.has(event.type)) {
      if (this.whole && this.#turn !== event.turn_id) return `Turn ${event.turn_id} ends and was not running`;
      this.#turn = null;
      if (event.type === `${TURN}completed` && this.#open.size > 0) {
        return `the Turn is completed, and Items are not: ${[...this.#open.keys()]}`;
      }
      this.#open.clear();
      this.#answered = false;
    } else if (event.type === 'agent.session.idle') {
      if (this.#answered) return 'nothing answered what was required';
      if (this.#turn) return `idle before the end of ${this.#turn}`;
      if (event.session.required_actions.length > 0) return 'idle with required actions';
    } else if (event.type === 'agent.session.requires_action') {
      if (this.#answered) return 'nothing answered what was required';
      // What was answered before the event is sent is not asked for again; then the answer follows.
      this.#answered = event.session.required_actions.length === 0;
    }
    return null;
  }

  #item(event) {
    if (event.type === `${TURN}item.added`) {
      const { id, type, role } = event.item;
      const input = role === 'user' || type === 'function_call_output';
      if (type === 'function_call_output') this.#answered = false;
      if (input !== (event.output_index === null)) return 'output_index is null exactly for input Items';
      if (input) return null;
      if (this.#open.has(id) || this.#done.has(id)) return `Item ${id} is added twice`;
      this.#open.set(id, { texts: new Map(), index: event.output_index });
      return null;
    }
    if (event.type === `${TURN}item.done`) {
      const { id } = event.item;
      if (this.whole && !this.#open.has(id)) return `Item ${id} is done and was not added`;
      const { index } = this.#open.get(id) ?? { index: event.output_index };
      if (index !== event.output_index) return `Item ${id} changed its output_index`;
      this.#open.delete(id);
      this.#done.add(id);
      return null;
    }
    if (event.item_id === undefined) return null;
    const item = this.#open.get(event.item_id);
    if (!item) return this.whole ? `${event.type} of an Item that is not open` : null;
    if (item.index !== event.output_index) return `${event.type} with another output_index than its Item`;
    return this.#text(item.texts, event);
  }

  // Deltas may be missing, but what is there must be a beginning of the whole, in order.
  #text(texts, event) {
    const part = event.content_index ?? event.summary_index ?? 'output';
    const kind = event.type.split('.').at(-1);
    if (kind === 'delta') {
      texts.set(part, (texts.get(part) ?? '') + event.delta);
    } else if (event.text !== undefined && texts.has(part) && !event.text.startsWith(texts.get(part))) {
      return `what was written is no beginning of the whole: ${JSON.stringify(texts.get(part))}`;
    }
    return null;
  }
}
