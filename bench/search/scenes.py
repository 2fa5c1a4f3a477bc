"""How things are told, and how one asks for them later in other words.

``{i}`` is whoever tells it and ``{who}`` whoever asks for it says; the rest is of words.py.
"""

SCENES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        (
            "{i} bought a {colour} {thing} at the {venue} in {city} for {number} euros",
            "{i} paid {number} euros for a {colour} {thing}, found at a {venue} in {city}",
        ),
        (
            "where did {who} purchase the {colour} {thing}?",
            "how much money did {who} spend on a {thing} in {city}?",
        ),
    ),
    (
        (
            "{i} must never eat {food}, it brings on {ailment}",
            "after a plate of {food} {i} had {ailment} for {number} hours",
        ),
        (
            "which dish gives {who} {ailment}?",
            "is {food} bad for {who}?",
        ),
    ),
    (
        (
            "{i} cooked {food} and {food2} for the {event} on {day}",
            "on {day} {i} brought {food} with {food2} to the {event}",
        ),
        (
            "what did {who} prepare to eat for the {event} in {month}?",
            "when did {who} make {food} and {food2}?",
        ),
    ),
    (
        (
            "{i} met {friend} at the {venue} in {city} after the {event}",
            "after the {event} {i} ran into {friend} in {city}, right beside the {venue}",
        ),
        (
            "whom did {who} bump into in {city}?",
            "where did {who} and {friend} see each other following the {event}?",
        ),
    ),
    (
        (
            "in project {project} the {tool} {fault} on {day}, and {i} "
            "had to explain it to {friend}",
            "the {tool} of project {project} {fault} on {day}; {i} wrote the report",
        ),
        (
            "what happened to the {tool} of {project}?",
            "which part of {project} {fault} in {month}?",
        ),
    ),
    (
        (
            "{i} started {hobby} with {my} {relative} every {weekday}",
            "every {weekday} {my} {relative} and {i} went to {hobby} near the {venue}",
        ),
        (
            "which pastime does {who} share with a {relative}?",
            "on what day of the week is {who} busy with {hobby}?",
        ),
    ),
    (
        (
            "{my} {relative} adopted a {colour} {pet} named {petname}",
            "{i} took {petname}, a {colour} {pet}, home to {my} {relative}",
        ),
        (
            "what is the name of the {pet} that belongs to the {relative} of {who}?",
            "what kind of animal is {petname}, of the family of {who}?",
        ),
    ),
    (
        (
            "{i} saw the {job} in {city} on {day} because of {ailment}",
            "the {job} in {city} could see {i2} about the {ailment} on {day}",
        ),
        (
            "why did {who} have an appointment with the {job}?",
            "which professional treated the {ailment} of {who} in {month}?",
        ),
    ),
    (
        (
            "{i} finished {book}, a present from {my} {relative} for the {event}",
            "{my} {relative} lent {i2} {book} before the {event}",
        ),
        (
            "who gave {book} to {who}?",
            "which novel did {who} get on the occasion of the {event}?",
        ),
    ),
    (
        (
            "{i} moved from {city} to {city2} in {month} to work as a {job}",
            "in {month} {i} settled in {city2}, far from {city}, working as a {job}",
        ),
        (
            "why did {who} leave {city}?",
            "in which town is {who} employed as a {job}?",
        ),
    ),
    (
        (
            "{i} planted {plant} behind the {venue} but the {weather} ruined most of it",
            "the {weather} destroyed the {plant} that {i} grew by the {venue}",
        ),
        (
            "what did the {weather} do to the garden of {who}?",
            "why did the {plant} of {who} not survive?",
        ),
    ),
    (
        (
            "{i} signed up for {subject} at the {venue}, with the exam on {day}",
            "the {subject} course that {i} took in {city} ended with an exam on {day}",
        ),
        (
            "when is {who} going to be tested in {subject}?",
            "what is {who} learning these days, with a final in {month}?",
        ),
    ),
    (
        (
            "{i} lost a {colour} {thing} on the train to {city}, {friend} found it",
            "{friend} returned the {colour} {thing} that {i} forgot on a train to {city}",
        ),
        (
            "what did {who} leave behind on the way to {city}?",
            "who got the missing {thing} back to {who}?",
        ),
    ),
    (
        (
            "{i} felt {feeling} at the {event} because {friend} did not come",
            "because {friend} stayed away from the {event}, {i} was {feeling}",
        ),
        (
            "how was the mood of {who} during the {event}?",
            "who was absent, leaving {who} {feeling}?",
        ),
    ),
    (
        (
            "{i} borrowed {number} euros from {friend} for the {thing} "
            "and the tickets to the {event}",
            "{friend} lent {i2} {number} euros for a {thing} before the {event}",
        ),
        (
            "what debt does {who} have with {friend}?",
            "why must {who} pay {friend} back after the {event}?",
        ),
    ),
    (
        (
            "the flight that {i} booked to {city} on {day} was cancelled "
            "after {number} hours of {weather}",
            "{i} waited {number} hours for the plane to {city} on {day}, all because of {weather}",
        ),
        (
            "what kept {who} from flying to {city} in time?",
            "which trip of {who} in {month} was spoiled by {weather}?",
        ),
    ),
    (
        (
            "{my} {relative} who is a {job} repaired the {thing} in {number} minutes",
            "it took {my} {relative}, a {job}, {number} minutes to fix "
            "the {colour} {thing} for {i2}",
        ),
        (
            "who mended the {thing} for {who}?",
            "what is the profession of the {relative} of {who}?",
        ),
    ),
    (
        (
            "{i} will present project {project} at the {event} in {city} with {friend}",
            "{friend} and {i} gave the talk about project {project} at the {event} in {city}",
        ),
        (
            "with whom is {who} speaking about {project}?",
            "what will be shown at the {event} in {city} by {who}?",
        ),
    ),
    (
        (
            "{i} dreamt of a house by the {venue} in {city}, with {plant} and a {pet}",
            "{i} always hoped to live near a {venue} in {city} and keep a {pet}",
        ),
        (
            "where would {who} love to settle down?",
            "which animal would {who} like to have in {city}?",
        ),
    ),
    (
        (
            "{i} liked {food} best without {food2} and drank nothing with it",
            "please serve {i2} {food}, never with {food2}",
        ),
        (
            "how does {who} like {food}?",
            "what should be left out of the meal of {who}, {food2} or something else?",
        ),
    ),
)

TAILS = (
    "It took {number} minutes in all.",
    "That made {friend} {feeling}.",
    "There was {weather} the whole time.",
    "The {relative} of {friend} said the same.",
    "More about it on {weekday}.",
    "Somebody should have told the {job}.",
    "We had {food} afterwards.",
    "It was louder than the {venue} in {city2}.",
)
SMALL_TALK = (
    "That sounds lovely, tell me more about {city}!",
    "No way, and what did {friend} say?",
    "I have to go to the {venue} now, talk to you on {weekday}.",
    "Did you ever try {food}? I am still {feeling}.",
    "Same here, I have been {feeling} since {month}.",
    "How is your {relative} doing?",
)
