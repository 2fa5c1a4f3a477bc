"""What invented memories are about: said one way, and perhaps asked for another way (after a /).

Earlier entries are used more often, as a few words of any language are.
"""

FIRST = """
Mira, Jonas, Aisha, Tomasz, Elena, Kofi, Priya, Lars, Yuki, Camila, Omar, Ingrid, Dmitri, Fatima,
Hugo, Nadia, Pavel, Rosa, Sven, Leila, Mateo, Anika, Declan, Zara, Bruno, Thandi, Igor, Maeve, Ravi,
Clara, Stefan, Amara, Felix, Noor, Gustav, Keiko, Andre, Salma, Viktor, Paloma, Idris, Greta, Marco,
Sunita, Otto, Bianca, Rashid, Freya, Emil, Chiara, Tariq, Signe, Luis, Hana, Boris, Ines, Kwame,
Linnea, Diego, Asha, Milan, Odette, Samir, Petra, Jorge, Mei, Anton, Farah, Ruben, Sigrid
"""
LAST = """
Okafor, Lindqvist, Haddad, Novak, Castellano, Mensah, Iyer, Berg, Tanaka, Duarte, Farouk, Solberg,
Volkov, Rahman, Lefevre, Marchetti, Kowalski, Fuentes, Ekström, Nazari, Ibarra, Schäfer, Gallagher,
Siddiqui, Moretti, Dlamini, Petrov, Brennan, Kapoor, Vogel, Horvat, Adeyemi, Winter, Aziz, Holm,
Mori, Silva, Benali, Sokolov, Navarro, Jimoh, Keller, Ricci, Menon, Becker, Costa, Malik, Dahl
"""
CITIES = """
Lisbon, Kraków, Nairobi, Bergen, Osaka, Valparaíso, Ghent, Tbilisi, Marseille, Halifax, Porto,
Ljubljana, Accra, Galway, Kyoto, Seville, Tallinn, Medellín, Leipzig, Hobart, Salzburg, Izmir,
Utrecht, Cardiff, Montevideo, Riga, Cusco, Aarhus, Palermo, Chennai, Tromsø, Quito, Split, Oaxaca,
Basel, Kigali
"""
VENUES = """
café/coffee shop, library/reading room, market/bazaar, station/railway stop, museum/gallery,
harbour/port, bakery/bread shop, park/public garden, gym/fitness studio, hospital/clinic,
cinema/movie theatre, church/chapel, town hall/city council building, bookshop/book store, pub/bar,
airport/airfield, theatre/playhouse, farm/ranch, garage/workshop, pharmacy/chemist,
supermarket/grocery store, swimming pool/baths, campsite/camping ground, stadium/sports arena,
university/campus, courthouse/law court, lighthouse, vineyard/winery, flea market/second-hand fair,
warehouse/storage depot, greenhouse/glasshouse, monastery/abbey, observatory, ferry terminal
"""
THINGS = """
bicycle/bike, sofa/couch, laptop/notebook computer, coat/jacket, camera, lamp/light, carpet/rug,
backpack/rucksack, guitar, kettle, mirror/looking glass, tent, watch/wristwatch, blanket/quilt,
headphones/earphones, suitcase/luggage, wardrobe/closet, printer, vase, telescope, typewriter,
sweater/jumper, boots/footwear, necklace/pendant, umbrella, fridge/refrigerator, stove/cooker,
armchair/easy chair, bookshelf/bookcase, drill/power tool, notebook/journal, skateboard,
kayak/canoe, violin/fiddle, painting/canvas, teapot, sewing machine, chessboard/chess set, hammock,
record player, wallet/purse, sunglasses/shades, ladder, scarf/shawl, dishwasher, curtain/drapes,
aquarium/fish tank, microscope, pillow/cushion, ring/band of jewellery, trumpet/brass horn, helmet,
binoculars/field glasses
"""
COLOURS = """
blue, red/crimson, green, black/dark, white, grey/silver, yellow, brown, orange, purple/violet,
turquoise/teal, pink/rose, beige/cream, golden, striped, spotted, second-hand/used, brand-new/new,
antique/very old, wooden, leather, foldable/collapsible, huge/enormous, tiny/very small,
broken/damaged
"""
FOODS = """
lentil soup/lentil stew, mushroom risotto, grilled salmon/fish, pumpkin curry, peanuts/groundnuts,
apple pie/apple tart, goat cheese, shrimp/prawns, potato salad, sourdough bread/loaf of sourdough,
beef stew/casserole, mango chutney, pancakes/crêpes, roasted aubergine/baked eggplant, noodle
soup/ramen, chickpea salad/garbanzo salad, strawberries/berries, lamb skewers/kebabs, onion
tart/onion quiche, rice pudding, spinach dumplings, chocolate cake/cocoa sponge, olives,
walnuts/nuts, yoghurt/curd, courgette fritters/zucchini patties, black beans, honey biscuits/honey
cookies, fennel, tofu/bean curd, cherry jam/cherry preserve, corn tortillas, duck breast, pickled
beetroot/pickled beets, oysters/shellfish, porridge/oatmeal, ginger tea, tomato sauce, coconut milk,
sweet potatoes/yams, blue cheese, cabbage rolls
"""
EVENTS = """
wedding/marriage ceremony, birthday/birthday party, conference/convention, funeral/memorial service,
concert/gig, graduation/degree ceremony, housewarming/party in the new flat, marathon/long-distance
race, job interview/hiring talk, exhibition/art show, school reunion/class meeting,
barbecue/cookout, product launch/release, festival/fair, board meeting/directors' meeting, book
club/reading circle, anniversary/jubilee, charity auction/fundraiser, strike/walkout, election/vote,
chess tournament, workshop/training day, baby shower, picnic/outdoor lunch, film premiere/first
screening, eclipse, rehearsal/practice session, parade/procession, trial/court hearing, harvest
dinner, regatta/boat race
"""
PROJECT_STYLES = """
Blue, Silent, Northern, Copper, Paper, Amber, Winter, Velvet, Granite, Rapid, Hidden, Lunar,
Crimson, Open, Golden, Hollow, Bright, Salt, Iron, Wandering, Second, Glass, Desert, Little,
Electric
"""
PROJECT_NAMES = """
Heron, Atlas, Lantern, Compass, Orchard, Beacon, Falcon, Ledger, Harvest, Anchor, Meadow, Prism,
Otter, Signal, Bridge, Thistle, Comet, Kestrel, Quarry, Willow, Raven, Tide, Mosaic, Juniper, Summit
"""
JOBS = """
dentist/tooth doctor, plumber/pipe fitter, lawyer/attorney, teacher/schoolteacher, nurse/caregiver,
architect/building designer, electrician, accountant/bookkeeper, vet/animal doctor, landlord/house
owner, carpenter/woodworker, translator/interpreter, therapist/counsellor, baker,
journalist/reporter, pilot/aviator, chef/cook, gardener/landscaper, tailor/dressmaker, midwife,
librarian, surgeon, photographer, mechanic/car repairer, physiotherapist, notary, optician/eye
specialist, firefighter
"""
PETS = """
cat/kitten, dog/puppy, parrot/bird, rabbit/bunny, hamster, tortoise/turtle, horse/mare, goldfish,
goat, ferret, hedgehog, canary/songbird, lizard/gecko, donkey, guinea pig, pony/small horse,
snake/python
"""
AILMENTS = """
migraine/headache, rash/skin irritation, back pain/sore back, cough, insomnia/sleeplessness,
sprained ankle/twisted foot, hay fever/pollen allergy, toothache, broken wrist/fractured wrist,
asthma, stomach cramps/belly ache, flu/influenza, sunburn, high blood pressure/hypertension,
nausea/sickness, knee injury/hurt knee, vertigo/dizziness, swollen lips, anaemia/lack of iron, ear
infection
"""
HOBBIES = """
pottery/ceramics, rock climbing/bouldering, birdwatching/ornithology, knitting, salsa/Latin dancing,
chess, gardening/growing vegetables, photography/taking pictures, swimming, calligraphy/fine
handwriting, beekeeping/keeping bees, sailing, watercolours/painting, cycling/riding bikes, choir
singing/singing, fencing, woodworking/carpentry, yoga, stargazing/astronomy, baking, karate/martial
arts, skiing, fly fishing/angling, crossword puzzles, running/jogging, surfing, origami/paper
folding, archery
"""
SUBJECTS = """
statistics, Portuguese, contract law/law, organic chemistry/chemistry, art history, Japanese,
machine learning/artificial intelligence, philosophy, nutrition/dietetics, marine biology/ocean
life, bookkeeping/accounting, geology/rocks and minerals, Arabic, music theory, economics, sign
language, first aid/emergency care, Norwegian, astronomy, typography/fonts, robotics, poetry,
cartography/map making
"""
RELATIVES = """
sister/sibling, brother/sibling, mother/mum, father/dad, grandmother/granny, neighbour/person next
door, boss/manager, colleague/coworker, cousin, daughter/little girl, son/little boy, uncle,
flatmate/roommate, aunt, nephew, niece, partner, best friend/closest friend, grandfather/grandpa,
mother-in-law, tutor/mentor
"""
TOOLS = """
invoice system/billing software, database/data store, search page, mobile app/phone application,
payroll script/salary script, website/web page, login form/sign-in page, backup server,
spreadsheet/table, newsletter/mailing, sensor network, ticket queue/issue tracker, chat bot,
recommendation engine, map viewer, payment gateway/checkout, design mock-up/prototype, translation
pipeline, dashboard/overview screen
"""
FAULTS = """
crashed/went down, was delayed/was late, lost data/dropped records, was cancelled/was called off,
ran over budget/cost too much, was approved/got the green light, was rewritten/was built again,
leaked memory, was demoed/was shown, was handed over/changed hands, failed its audit/did not pass
review, doubled its users, was postponed/was put off, was translated, won a prize/got an award,
broke/stopped working
"""
PLANTS = """
tomatoes, roses, basil/herbs, an apple tree/a fruit tree, sunflowers, lavender, strawberries, a fig
tree, tulips/bulbs, a cactus/a succulent, ferns, pumpkins/squash, orchids, rosemary, an olive tree,
mint, garlic
"""
FEELINGS = """
happy/glad, nervous/anxious, tired/exhausted, proud, angry/furious, relieved, lonely,
surprised/astonished, homesick, grateful/thankful, bored, jealous/envious, hopeful/optimistic,
embarrassed/ashamed, calm/relaxed
"""
WEATHER = """
heavy rain/downpour, snow, fog/mist, heatwave/hot spell, thunderstorm/lightning, strong wind/gale,
hail, frost/ice, drought/dry spell, flood/high water
"""
MONTHS = """
January, February, March, April, May, June, July, August, September, October, November, December
"""
BOOK_STARTS = """
The Last, A Short History of, The Secret, Letters from, Under the, Beyond the, The House of, Notes
on, The Weight of, Seven, Return to, The Art of, Songs of, Waiting for the, The Invention of
"""
BOOK_ENDS = """
Glaciers, Lighthouse, Bees, Silence, Rivers, Clockmakers, Winter, Saltwater, Strangers, Orchards,
Maps, Thieves, Moths, Gravity, Snow, Violins, Tuesday, Harbours, Foxes, Bread, Shadows
"""
